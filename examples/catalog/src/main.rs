//! Bottles, movies and products as arrays of attributes: the attribute page of the manual, end to
//! end.
//!
//! `cargo run --release -p catalog` shows all of it. Its products are made up by [`products`], the
//! same ones in every run.

mod cli;
mod command;
mod comparison;
mod condition;
mod examined;
mod field;
mod form;
mod manual;
mod migration;
mod model;
mod numbers;
mod products;
mod query;
mod table;
mod verdict;

use std::{io, process::ExitCode};

use clap::Parser as _;
use example_kit::{app, cli::refuse};

use crate::cli::Arguments;

/// The name of the app, and of its database unless `MONGODB_URI` names one.
const APP: &str = "catalog";

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error),
    };
    app::log();
    let format = arguments.format();
    let mut out = io::stdout();
    let ended = command::run(arguments, &mut out).await;
    app::end(ended, format, &mut out)
}
