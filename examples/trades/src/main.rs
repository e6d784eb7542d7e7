//! Stock trades in buckets of ten: the bucket page of `MongoDB`'s manual, end to end.
//!
//! `cargo run --release -p trades` shows all of it; `trades --help` lists the other commands. Here
//! is only the way in and out: each command is in a file of its own.

mod cli;
mod command;
mod csv_input;
mod error;
mod json;
mod loader;
mod model;
mod print;
mod progress;
mod server;
mod stored;
mod table;
mod text;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::Parser as _;
use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    fmt,
    layer::SubscriberExt as _,
    util::SubscriberInitExt as _,
};

use crate::cli::{Arguments, Format};

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return cli::refuse(&error),
    };
    log();
    let format = arguments.format();
    let mut out = io::stdout();
    let ended = command::run(arguments.command, &mut out).await;
    match ended.and_then(|code| flushed(&mut out, code)) {
        Ok(code) => code,
        // `trades show 17850 | head`: the reader has what it wanted.
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            report(&error, format);
            ExitCode::FAILURE
        }
    }
}

fn flushed(out: &mut impl Write, code: ExitCode) -> Result<ExitCode, error::Error> {
    out.flush()?;
    Ok(code)
}

/// The development server says when it has to be downloaded, which takes a while.
fn log() {
    let lines = fmt::layer()
        .with_writer(io::stderr)
        .without_time()
        .with_level(false)
        .with_target(false)
        .with_ansi(false);
    let download = Targets::new().with_target("bucket_mongo::testing", LevelFilter::INFO);
    tracing_subscriber::registry()
        .with(download)
        .with(lines)
        .init();
}

fn report(error: &error::Error, format: Format) {
    let line = match format {
        Format::Text => format!("error: {error}"),
        Format::Json => json::error(&error.to_string()),
    };
    text::complain(&line);
}
