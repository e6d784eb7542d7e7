//! The commands, one per file.

mod archive;
mod correct;
mod demo;
mod devices;
mod forget;
mod latest;
mod load;
mod readings;
mod rollup;
mod seal;
mod sizes;
mod stats;

use std::{io::Write, process::ExitCode};

use bucket_mongo::Buckets;
use example_kit::{Error, Server, cli::Format};

use crate::{APP, cli::Command, csv_input, limits, model::Reading};

/// Runs a command, or the main job if there is none.
pub(crate) async fn run<W: Write>(
    command: Option<Command>,
    out: &mut W,
) -> Result<ExitCode, Error> {
    match command {
        None => demo::run(out).await?,
        Some(Command::Load(input)) => return load::run(&input, out).await,
        Some(Command::Devices { output }) => {
            let format = output.format();
            read(format, async |it| devices::run(it, format, out).await).await?;
        }
        Some(Command::Sizes { output }) => {
            let format = output.format();
            read(format, async |it| sizes::run(it, format, out).await).await?;
        }
        Some(Command::Latest { output }) => {
            let format = output.format();
            read(format, async |it| latest::run(it, format, out).await).await?;
        }
        Some(Command::Readings(select)) => {
            let format = select.output.format();
            read(format, async |it| readings::run(it, select, out).await).await?;
        }
        Some(Command::Stats(select)) => {
            let format = select.output.format();
            read(format, async |it| stats::run(it, select, out).await).await?;
        }
        Some(Command::Correct(correct)) => {
            let format = correct.output.format();
            read(format, async |it| correct::run(it, correct, out).await).await?;
        }
        Some(Command::Forget(forget)) => {
            let format = forget.output.format();
            read(format, async |it| forget::run(it, forget, out).await).await?;
        }
        Some(Command::Seal(seal)) => {
            let format = seal.output.format();
            read(format, async |it| seal::run(it, seal, out).await).await?;
        }
        Some(Command::Archive(asked)) => {
            let format = asked.output.format();
            read(format, async |it| archive::run(it, asked, out).await).await?;
        }
        Some(Command::Rollup(asked)) => {
            let format = asked.select.output.format();
            read(format, async |it| rollup::run(it, asked, out).await).await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads readings, or edits them.
async fn read(
    format: Format,
    read: impl AsyncFnOnce(&Buckets<Reading>) -> Result<(), Error>,
) -> Result<(), Error> {
    Server::run(APP, async |server| {
        server.tell_if_built_in("readings", format);
        read(&filled(server).await?).await
    })
    .await
}

/// The readings to read. A development server is empty, so it first gets the built-in ones.
async fn filled(server: &Server) -> Result<Buckets<Reading>, Error> {
    let buckets = limits::buckets(&server.database());
    if !server.is_lasting() {
        buckets.ensure().await?;
        let readings = csv_input::built_in()?;
        let readings = readings.into_iter().map(|row| row.record);
        buckets.insert_many(readings).await?.into_result()?;
    }
    Ok(buckets)
}
