//! `sensors rollup DEVICE TYPE --every STEP`: a sensor's values, step by step, as a chart.

use std::{fs, io::Write, path::Path};

use bucket_mongo::{Buckets, Interval, TimeRange};
use example_kit::{Error, cli::Format, json, terminal, text};
use serde::Serialize;

use super::stats::text_of_buckets;
use crate::{
    chart::{svg, terminal as in_terminal},
    cli,
    model::Reading,
    rollup::{self, Rollup, Row},
    sensor::Sensor,
};

/// The result in JSON.
#[derive(Debug, Serialize)]
struct Report<'a> {
    device_id: &'a str,
    sensor_type: &'a str,
    from: Option<String>,
    to: Option<String>,
    every: String,
    buckets: u64,
    /// The number of buckets whose readings were read.
    opened: u64,
    rows: Vec<Row>,
}

pub(super) async fn run(
    buckets: &Buckets<Reading>,
    asked: cli::Rollup,
    out: &mut impl Write,
) -> Result<(), Error> {
    let cli::Select {
        sensor,
        range,
        output,
    } = asked.select;
    let every = asked.steps.0;
    let format = output.format();
    let bounded = rollup::bounded(buckets, &sensor, range).await?;
    let found = match bounded {
        Some(range) => rollup::read(buckets, &sensor, range, &every, asked.fill.into()).await?,
        None => Rollup::default(),
    };
    let series = found.series(&sensor, &every);
    if let Some(file) = &asked.svg {
        save(file, &svg::draw(&series))?;
    }
    if format == Format::Json {
        let report = report(&sensor, bounded.unwrap_or(range), &every, &found);
        return json::print(&report, out);
    }
    if found.is_empty() {
        writeln!(out, "{}", sensor.has_none(range))?;
    } else {
        write!(out, "{}", in_terminal::draw(&series, terminal::width()))?;
        writeln!(
            out,
            "\n{} from {}",
            text::counted(found.steps.len() as u64, "step"),
            text_of_buckets(found.buckets, found.opened),
        )?;
    }
    if let Some(file) = &asked.svg {
        writeln!(out, "the picture is in `{}`", file.display())?;
    }
    Ok(())
}

fn save(file: &Path, picture: &str) -> Result<(), Error> {
    fs::write(file, picture).map_err(|source| Error::NotWritten {
        file: file.display().to_string(),
        source,
    })
}

fn report<'a>(
    sensor: &'a Sensor,
    range: TimeRange,
    every: &Interval,
    found: &Rollup,
) -> Report<'a> {
    Report {
        device_id: &sensor.device_id,
        sensor_type: &sensor.sensor_type,
        from: range.start().map(text::date),
        to: range.end().map(text::date),
        every: every.to_string(),
        buckets: found.buckets,
        opened: found.opened,
        rows: found.steps.iter().map(Row::from).collect(),
    }
}
