//! The commands, one per file.

mod demo;
mod record;

use std::{io::Write, process::ExitCode};

use example_kit::Error;

use crate::cli::Command;

/// Runs a command, or the main job if there is none.
pub(crate) async fn run<W: Write>(
    command: Option<Command>,
    out: &mut W,
) -> Result<ExitCode, Error> {
    match command {
        None => demo::run(out).await?,
        Some(Command::Record) => record::run(out).await?,
    }
    Ok(ExitCode::SUCCESS)
}
