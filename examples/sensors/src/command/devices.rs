//! `sensors devices`: what is stored of each device.

use std::io::Write;

use example_kit::{Error, Server, cli::Format, json};
use serde::Serialize;

use crate::{
    APP, csv_input,
    device::{self, Figures},
    limits, table,
};

/// The result in JSON.
#[derive(Debug, Serialize)]
struct Report {
    devices: Vec<Figures>,
}

pub(super) async fn run(format: Format, out: &mut impl Write) -> Result<(), Error> {
    let server = Server::start(APP).await?;
    let buckets = limits::buckets(&server.database().await?);
    server.tell_if_built_in("readings", format);
    if !server.is_lasting() {
        buckets.ensure().await?;
        let readings = csv_input::built_in()?;
        let readings = readings.into_iter().map(|row| row.record);
        buckets.insert_many(readings).await?.into_result()?;
    }
    let devices = device::all(&buckets).await?;
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
