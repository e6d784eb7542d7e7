//! Sensor readings in time buckets with aggregates: the tutorial's `IoT` pipeline, end to end.
//!
//! `cargo run --release -p sensors` shows all of it; `sensors --help` lists the other commands.
//! This file only starts and ends the program: each command is in its own file.

mod chart;
mod cli;
mod command;
mod csv_input;
mod device;
mod limits;
mod model;
mod pipeline;
mod reading;
mod rollup;
mod sensor;
mod storage;
mod table;

use std::{io, process::ExitCode};

use clap::Parser as _;
use example_kit::{app, cli::refuse};

use crate::cli::Arguments;

/// The name of the app, and of its database unless `MONGODB_URI` names one.
const APP: &str = "sensors";

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
