//! `sensors seal`: packs the readings of windows that ended a week ago, or gives their rows back.

use std::io::Write;

use bucket_mongo::Buckets;
use example_kit::{Error, cli::Format, json};
use serde::Serialize;

use crate::{cli::Seal, model::Reading};

/// The result in JSON.
#[derive(Debug, Serialize)]
struct Report {
    dry_run: bool,
    buckets: u64,
    readings: u64,
    bytes_before: u64,
    bytes_after: u64,
    stay: u64,
    damaged: u64,
}

pub(super) async fn run(
    buckets: &Buckets<Reading>,
    seal: Seal,
    out: &mut impl Write,
) -> Result<(), Error> {
    let Seal {
        undo,
        dry_run,
        output,
    } = seal;
    let done = match (undo, dry_run) {
        (false, false) => buckets.seal().await?,
        (false, true) => buckets.seal().dry_run().await?,
        (true, false) => buckets.unseal().await?,
        (true, true) => buckets.unseal().dry_run().await?,
    };
    if output.format() == Format::Json {
        let report = Report {
            dry_run,
            buckets: done.buckets,
            readings: done.records,
            bytes_before: done.bytes_before,
            bytes_after: done.bytes_after,
            stay: done.stay,
            damaged: done.damaged,
        };
        return json::print(&report, out);
    }
    let would = if dry_run { "would be " } else { "" };
    writeln!(out, "{would}{done}")?;
    Ok(())
}
