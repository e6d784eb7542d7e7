//! `sensors devices`: what is stored of each device.

use std::io::Write;

use example_kit::{Error, Server, cli::Format, json};
use serde::Serialize;

use super::filled;
use crate::{
    APP,
    device::{self, Figures},
    table,
};

/// The result in JSON.
#[derive(Debug, Serialize)]
struct Report {
    devices: Vec<Figures>,
}

pub(super) async fn run(format: Format, out: &mut impl Write) -> Result<(), Error> {
    let server = Server::start(APP).await?;
    server.tell_if_built_in("readings", format);
    let buckets = filled(&server).await?;
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
