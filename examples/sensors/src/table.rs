//! Devices and storage as tables.

use example_kit::table::{Cell, finished, number, table};

use crate::{device::Figures, storage::Storage};

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
        let values = values.map(|value| value.map_or_else(String::new, |v| format!("{v:.2}")));
        let names = [&device.device_id, &device.sensor_type].map(Cell::new);
        let counts = [device.buckets, device.readings].map(number);
        table.add_row(names.into_iter().chain(counts).chain(values.map(number)));
    }
    finished(table)
}

/// The room that each collection takes.
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
