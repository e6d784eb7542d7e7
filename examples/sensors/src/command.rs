//! The commands, one a file.

mod demo;
mod devices;
mod latest;
mod load;
mod readings;
mod rollup;
mod stats;

use std::{io::Write, process::ExitCode};

use bucket_mongo::Buckets;
use example_kit::{Error, Server};

use crate::{cli::Command, csv_input, limits, model::Reading};

/// Runs a command, or the main job if there is none.
pub(crate) async fn run<W: Write>(
    command: Option<Command>,
    out: &mut W,
) -> Result<ExitCode, Error> {
    match command {
        None => demo::run(out).await?,
        Some(Command::Load { file, output }) => {
            return load::run(&file, output.format(), out).await;
        }
        Some(Command::Devices { output }) => devices::run(output.format(), out).await?,
        Some(Command::Latest { output }) => latest::run(output.format(), out).await?,
        Some(Command::Readings(select)) => readings::run(select, out).await?,
        Some(Command::Stats(select)) => stats::run(select, out).await?,
        Some(Command::Rollup(rollup)) => rollup::run(rollup, out).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The readings to read. A development server is empty, so it gets the built-in ones first.
async fn filled(server: &Server) -> Result<Buckets<Reading>, Error> {
    let buckets = limits::buckets(&server.database().await?);
    if !server.is_lasting() {
        buckets.ensure().await?;
        let readings = csv_input::built_in()?;
        let readings = readings.into_iter().map(|row| row.record);
        buckets.insert_many(readings).await?.into_result()?;
    }
    Ok(buckets)
}
