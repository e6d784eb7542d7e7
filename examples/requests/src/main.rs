//! Request metrics in numbered buckets: the tutorial's count-based form, end to end.
//!
//! `cargo run --release -p requests` shows all of it. Its requests are made up by [`traffic`], the
//! same ones in every run.

mod cli;
mod command;
mod endpoint;
mod model;
mod table;
mod traffic;
mod writers;

use std::{io, process::ExitCode};

use clap::Parser as _;
use example_kit::{
    app,
    cli::{Format, refuse},
};

use crate::cli::Arguments;

/// The name of the app, and of its database unless `MONGODB_URI` names one.
const APP: &str = "requests";

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error),
    };
    app::log();
    let mut out = io::stdout();
    let ended = command::run(arguments.command, &mut out).await;
    app::end(ended, Format::Text, &mut out)
}
