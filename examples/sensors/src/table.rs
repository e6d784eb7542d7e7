//! Devices, readings, statistics and storage as tables.

use bucket_mongo::RangeStats;
use example_kit::{
    table::{Cell, finished, number, table},
    text::short_date,
};

use crate::{device::Figures, model::Reading, storage::Storage};

/// The figures of each device.
pub(crate) fn devices(devices: &[Figures]) -> String {
    let mut table = table(&[
        "device", "type", "buckets", "readings", "min", "max", "average", "p50", "p95", "p99",
    ]);
    for device in devices {
        let values = [
            device.min,
            device.max,
            device.average,
            device.p50,
            device.p95,
            device.p99,
        ];
        let values = values.map(rounded);
        let names = [&device.device_id, &device.sensor_type].map(Cell::new);
        let counts = [device.buckets, device.readings].map(number);
        table.add_row(names.into_iter().chain(counts).chain(values.map(number)));
    }
    finished(table)
}

/// Empty if there is no value.
pub(crate) fn rounded(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| format!("{value:.2}"))
}

/// The statistics of a span of time.
pub(crate) fn stats(stats: &RangeStats<Reading>) -> String {
    let mut table = table(&["min", "max", "average", "sum"]);
    let values = [stats.min(), stats.max(), stats.avg(), stats.sum()];
    table.add_row(values.map(|value| number(rounded(value))));
    finished(table)
}

/// The header of a table of readings and the rule under it. Readings are printed one by one, so the
/// widths of the columns must be known in advance.
pub(crate) fn reading_header() -> String {
    let header = line("time", "value", "quality");
    format!("{header}\n{}", "-".repeat(header.len()))
}

/// A reading with the exact value.
pub(crate) fn reading_line(reading: &Reading) -> String {
    let Reading {
        timestamp,
        value,
        quality,
        ..
    } = reading;
    line(
        &short_date(*timestamp),
        &format!("{value:?}"),
        &format!("{quality:?}"),
    )
}

/// The newest reading of each sensor, with the exact value.
pub(crate) fn latest(readings: &[Reading]) -> String {
    let mut table = table(&["device", "type", "time", "value", "quality"]);
    for reading in readings {
        let names = [&reading.device_id, &reading.sensor_type].map(Cell::new);
        let time = Cell::new(short_date(reading.timestamp));
        let values = [reading.value, reading.quality].map(|value| number(format!("{value:?}")));
        table.add_row(names.into_iter().chain([time]).chain(values));
    }
    finished(table)
}

/// A time with milliseconds has 23 characters; few numbers have more than 20.
fn line(time: &str, value: &str, quality: &str) -> String {
    format!("{time:<23}  {value:>20}  {quality:>7}")
}

/// The space that each collection takes.
pub(crate) fn storage(collections: &[Storage], readings: usize) -> String {
    let mut table = table(&[
        "the same readings as",
        "documents",
        "data KB",
        "indexes KB",
        "bytes per reading",
    ]);
    for collection in collections {
        table.add_row([
            Cell::new(collection.name),
            number(collection.documents),
            number(collection.data.div_ceil(1024)),
            number(collection.indexes.div_ceil(1024)),
            number(format!("{:.1}", collection.per_reading(readings))),
        ]);
    }
    finished(table)
}
