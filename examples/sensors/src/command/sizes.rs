//! `sensors sizes`: how much space the readings take, and how full their buckets are.

use std::io::Write;

use bucket_mongo::{Buckets, FillReport, Sizes};
use example_kit::{Error, cli::Format, json};
use serde::Serialize;

use crate::model::Reading;

/// The result in JSON.
#[derive(Debug, Serialize)]
struct Report {
    sizes: Sizes,
    /// On disk, with the indexes.
    bytes_per_reading: Option<f64>,
    fill: FillReport,
}

pub(super) async fn run(
    buckets: &Buckets<Reading>,
    format: Format,
    out: &mut impl Write,
) -> Result<(), Error> {
    let (sizes, fill) = (buckets.sizes().await?, buckets.fill().await?);
    let report = Report {
        bytes_per_reading: sizes.per_record(fill.records),
        sizes,
        fill,
    };
    if format == Format::Json {
        return json::print(&report, out);
    }
    writeln!(out, "{}", report.sizes)?;
    if let Some(bytes) = report.bytes_per_reading {
        writeln!(out, "{bytes:.1} bytes on disk for each reading")?;
    }
    writeln!(out, "\n{}", report.fill)?;
    Ok(())
}
