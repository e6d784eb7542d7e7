//! `sensors archive`: packs the readings of windows that ended a week ago and moves them to the archive, or back.

use std::io::Write;

use bucket_mongo::Buckets;
use example_kit::{Error, cli::Format, json};
use serde::Serialize;

use crate::{cli::Archive, limits, model::Reading};

/// The result in JSON.
#[derive(Debug, Serialize)]
struct Report {
    dry_run: bool,
    buckets: u64,
    readings: u64,
    bytes: u64,
    damaged: u64,
}

pub(super) async fn run(
    buckets: &Buckets<Reading>,
    asked: Archive,
    out: &mut impl Write,
) -> Result<(), Error> {
    let Archive {
        undo,
        dry_run,
        output,
    } = asked;
    let place = limits::archive(buckets.database());
    let done = match (undo, dry_run) {
        (false, false) => {
            buckets.seal().await?;
            buckets.archive_to(place).await?
        }
        (false, true) => buckets.archive_to(place).dry_run().await?,
        (true, false) => buckets.restore_from(place).await?,
        (true, true) => buckets.restore_from(place).dry_run().await?,
    };
    if output.format() == Format::Json {
        let report = Report {
            dry_run,
            buckets: done.buckets,
            readings: done.records,
            bytes: done.bytes,
            damaged: done.damaged,
        };
        return json::print(&report, out);
    }
    let would = if dry_run { "would be " } else { "" };
    writeln!(out, "{would}{done}")?;
    Ok(())
}
