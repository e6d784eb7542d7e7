//! The commands, one per file.

mod compare;
mod demo;
mod find;
mod load;
mod migrate;

use std::{io::Write, process::ExitCode};

use example_kit::Error;

use crate::cli::{Arguments, Command};

/// Runs a command, or the main job if there is none.
pub(crate) async fn run<W: Write>(arguments: Arguments, out: &mut W) -> Result<ExitCode, Error> {
    match arguments.command {
        None => demo::run(arguments.amount, out).await?,
        Some(Command::Load {
            amount,
            form,
            output,
        }) => load::run(amount, form, output.format(), out).await?,
        Some(Command::Migrate(asked)) => return migrate::run(asked, out).await,
        Some(Command::Find(asked)) => find::run(asked, out).await?,
        Some(Command::Compare { amount, output }) => {
            compare::run(amount, output.format(), out).await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
