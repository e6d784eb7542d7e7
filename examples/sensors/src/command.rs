//! The commands, one a file.

mod demo;
mod devices;
mod load;

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
        Some(Command::Load { file, output }) => {
            return load::run(&file, output.format(), out).await;
        }
        Some(Command::Devices { output }) => devices::run(output.format(), out).await?,
    }
    Ok(ExitCode::SUCCESS)
}
