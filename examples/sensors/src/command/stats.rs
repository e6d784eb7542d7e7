//! `sensors stats DEVICE TYPE`: the statistics of a sensor over any span of time.

use std::io::Write;

use bucket_mongo::{Buckets, RangeStats, TimeRange};
use example_kit::{
    Error,
    cli::Format,
    json,
    text::{self, counted},
};
use serde::Serialize;

use crate::{
    cli::Select,
    model::Reading,
    sensor::{Sensor, span},
    table,
};

/// The result in JSON. Without readings there are no values.
#[derive(Debug, Serialize)]
struct Report<'a> {
    device_id: &'a str,
    sensor_type: &'a str,
    from: Option<String>,
    to: Option<String>,
    readings: u64,
    min: Option<f64>,
    max: Option<f64>,
    average: Option<f64>,
    sum: Option<f64>,
    buckets: u64,
    /// The number of buckets whose readings were read.
    opened: u64,
}

pub(super) async fn run(
    buckets: &Buckets<Reading>,
    select: Select,
    out: &mut impl Write,
) -> Result<(), Error> {
    let Select {
        sensor,
        range,
        output,
    } = select;
    let format = output.format();
    let stats = buckets.stats(sensor.key(), range).await?;
    match (format, &stats) {
        (Format::Json, stats) => json::print(&report(&sensor, range, stats.as_ref()), out)?,
        (Format::Text, None) => writeln!(out, "{}", sensor.has_none(range))?,
        (Format::Text, Some(stats)) => write!(
            out,
            "{sensor}{}\n{} in {}\n\n{}",
            span(range),
            counted(stats.count(), "reading"),
            text_of_buckets(stats.buckets(), stats.scanned_buckets()),
            table::stats(stats),
        )?,
    }
    Ok(())
}

/// The number of buckets that were read, and of those whose readings were read.
pub(super) fn text_of_buckets(buckets: u64, opened: u64) -> String {
    let buckets = counted(buckets, "bucket");
    match opened {
        0 => format!("{buckets}, read from their aggregates only"),
        _ => format!("{buckets}, {opened} of them opened for their readings"),
    }
}

fn report<'a>(
    sensor: &'a Sensor,
    range: TimeRange,
    stats: Option<&RangeStats<Reading>>,
) -> Report<'a> {
    Report {
        device_id: &sensor.device_id,
        sensor_type: &sensor.sensor_type,
        from: range.start().map(text::date),
        to: range.end().map(text::date),
        readings: stats.map_or(0, RangeStats::count),
        min: stats.and_then(|stats| stats.min()),
        max: stats.and_then(|stats| stats.max()),
        average: stats.and_then(|stats| stats.avg()),
        sum: stats.and_then(|stats| stats.sum()),
        buckets: stats.map_or(0, RangeStats::buckets),
        opened: stats.map_or(0, RangeStats::scanned_buckets),
    }
}
