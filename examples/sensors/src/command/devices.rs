//! `sensors devices`: what is stored for each device.

use std::io::Write;

use bucket_mongo::Buckets;
use example_kit::{Error, cli::Format, json};
use serde::Serialize;

use crate::{
    device::{self, Figures},
    model::Reading,
    table,
};

/// The result in JSON.
#[derive(Debug, Serialize)]
struct Report {
    devices: Vec<Figures>,
}

pub(super) async fn run(
    buckets: &Buckets<Reading>,
    format: Format,
    out: &mut impl Write,
) -> Result<(), Error> {
    let devices = device::all(buckets).await?;
    match format {
        Format::Json => json::print(&Report { devices }, out)?,
        Format::Text if devices.is_empty() => {
            let name = buckets.database().name();
            writeln!(
                out,
                "no readings in `{name}.{}`",
                buckets.spec().collection()
            )?;
        }
        Format::Text => write!(out, "{}", table::devices(&devices))?,
    }
    Ok(())
}
