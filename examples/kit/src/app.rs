//! Starts and ends the program for `main`.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    fmt,
    layer::SubscriberExt as _,
    util::SubscriberInitExt as _,
};

use crate::{cli::Format, error::Error, json, text};

/// The development server logs that it is being downloaded, which takes a while.
pub fn log() {
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

/// The exit code of a command; an error is printed on the standard error.
pub fn end(ended: Result<ExitCode, Error>, format: Format, out: &mut impl Write) -> ExitCode {
    match ended.and_then(|code| flushed(out, code)) {
        Ok(code) => code,
        // `trades show 17850 | head`: the reader has what it wanted.
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            report(&error, format);
            error.exit_code().into()
        }
    }
}

fn flushed(out: &mut impl Write, code: ExitCode) -> Result<ExitCode, Error> {
    out.flush()?;
    Ok(code)
}

fn report(error: &Error, format: Format) {
    let line = match format {
        Format::Text => format!("error: {error}"),
        Format::Json => json::error(&error.to_string()),
    };
    text::complain(&line);
}
