//! Stock trades in buckets of ten: the bucket page of `MongoDB`'s manual, end to end.
//!
//! `cargo run --release -p trades` shows all of it; `trades --help` lists the other commands. This
//! file only starts and ends the program: each command is in its own file.

mod cli;
mod command;
mod csv_input;
mod edited;
mod json;
mod model;
mod stored;
mod table;

use std::{io, process::ExitCode};

use clap::Parser as _;
use example_kit::{app, cli::refuse};

use crate::cli::Arguments;

/// The name of the app, and of its database unless `MONGODB_URI` names one.
const APP: &str = "trades";

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error),
    };
    app::log();
    let format = arguments.format();
    let mut out = io::stdout();
    let ended = command::run(arguments.command, &mut out).await;
    app::end(ended, format, &mut out)
}
