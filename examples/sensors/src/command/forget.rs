//! `sensors forget DEVICE`: removes everything of a device.

use std::io::Write;

use bucket_mongo::Buckets;
use example_kit::{Error, cli::Format, json, text};
use futures_util::TryStreamExt as _;
use serde::Serialize;

use crate::{cli::Forget, model::Reading};

/// The result in JSON.
#[derive(Debug, Serialize)]
struct Report<'a> {
    device_id: &'a str,
    removed: bool,
    readings: u64,
    buckets: u64,
}

pub(super) async fn run(
    buckets: &Buckets<Reading>,
    forget: Forget,
    out: &mut impl Write,
) -> Result<(), Error> {
    let Forget {
        device,
        yes,
        output,
    } = forget;
    let mut report = Report {
        device_id: &device,
        removed: yes,
        readings: 0,
        buckets: 0,
    };
    let mut keys = buckets.keys().stream();
    while let Some(key) = keys.try_next().await? {
        if key.device_id == device {
            let delete = buckets.delete_key(key);
            let removed = if yes {
                delete.await?
            } else {
                delete.dry_run().await?
            };
            report.readings += removed.records;
            report.buckets += removed.buckets;
        }
    }
    if output.format() == Format::Json {
        return json::print(&report, out);
    }
    if report.buckets == 0 {
        writeln!(out, "{device} has no readings")?;
        return Ok(());
    }
    let readings = text::counted(report.readings, "reading");
    let of = text::counted(report.buckets, "bucket");
    if yes {
        writeln!(out, "{device}: {readings} in {of} removed")?;
    } else {
        writeln!(
            out,
            "{device}: {readings} in {of} would be removed; with --yes they are"
        )?;
    }
    Ok(())
}
