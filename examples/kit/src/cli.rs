//! What every command line has: `--json`, and a message for wrong usage.

use std::{env, process::ExitCode};

use clap::Args;

use crate::{json, text};

/// How a command reports its result.
#[derive(Debug, Args)]
pub struct Output {
    /// Print one JSON object, errors too
    #[arg(long)]
    json: bool,
}

/// The form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

impl Output {
    /// The requested form.
    #[must_use]
    pub fn format(&self) -> Format {
        if self.json {
            Format::Json
        } else {
            Format::Text
        }
    }
}

impl Format {
    /// Prints a remark that is not part of a result, on the standard error.
    pub fn note(self, message: &str) {
        match self {
            Self::Text => text::complain(message),
            Self::Json => text::complain(&json::note(message)),
        }
    }
}

/// Says what is wrong with the command line, or prints the requested help.
#[must_use]
pub fn refuse(error: &clap::Error) -> ExitCode {
    let wants_json = env::args_os().any(|argument| argument == "--json");
    if error.use_stderr() && wants_json {
        text::complain(&json::error(&summary(error)));
    } else {
        // The output is closed: nobody can read it.
        let _ = error.print();
    }
    u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// The error without the usage text that follows it, on one line.
#[must_use]
pub fn summary(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let text = text.split("\n\n").next().unwrap_or_default();
    let text = text.strip_prefix("error: ").unwrap_or(text);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
