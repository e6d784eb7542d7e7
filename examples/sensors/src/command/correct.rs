//! `sensors correct DEVICE TYPE --at TIME --value VALUE`: corrects what a sensor measured at a time.

use std::io::Write;

use bucket_mongo::{Buckets, bson::DateTime};
use example_kit::{Error, cli::Format, json, text};
use serde::Serialize;

use crate::{cli::Correct, model::Reading, reading::Shown, table};

/// The result in JSON.
#[derive(Debug, Serialize)]
struct Report<'a> {
    dry_run: bool,
    readings: Vec<Shown<'a>>,
}

pub(super) async fn run(
    buckets: &Buckets<Reading>,
    correct: Correct,
    out: &mut impl Write,
) -> Result<(), Error> {
    let (sensor, at, value) = (&correct.sensor, correct.at, correct.value);
    let end = DateTime::from_millis(at.timestamp_millis().saturating_add(1));
    // A sensor may have sent a reading twice.
    let found = buckets.range(sensor.key(), at..end).with_refs().await?;
    let mut corrected = Vec::with_capacity(found.len());
    for found in found {
        let update = buckets.update(sensor.key(), found.reference, |reading| {
            reading.value = value;
        });
        let update = if correct.dry_run {
            update.dry_run()
        } else {
            update
        };
        corrected.extend(update.await?);
    }
    if correct.output.format() == Format::Json {
        let report = Report {
            dry_run: correct.dry_run,
            readings: corrected.iter().map(Shown::from).collect(),
        };
        return json::print(&report, out);
    }
    if corrected.is_empty() {
        writeln!(out, "{sensor} has no reading of {}", text::date(at))?;
        return Ok(());
    }
    writeln!(out, "{sensor}\n\n{}", table::reading_header())?;
    for reading in &corrected {
        writeln!(out, "{}", table::reading_line(reading))?;
    }
    let number = text::counted(
        u64::try_from(corrected.len()).unwrap_or(u64::MAX),
        "reading",
    );
    let would = if correct.dry_run { " would be" } else { "" };
    writeln!(out, "\n{number}{would} corrected")?;
    Ok(())
}
