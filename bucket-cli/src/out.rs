//! The standard output of a command, and remarks on the standard error.

use std::{
    env,
    io::{self, BufWriter, IsTerminal as _, Stdout, Write as _},
};

use console::Term;
use serde_json::{Value, json};

use crate::{error::Error, json, secret::Secrets, table::Table, text};

/// The form of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// Lines of JSON.
    Json,
    /// Tables as CSV.
    Csv,
}

/// What a line means: its colour on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Bad,
}

/// Where a command writes.
#[derive(Debug)]
pub(crate) struct Out {
    format: Format,
    is_quiet: bool,
    /// The width of the terminal; `None` if the output goes elsewhere.
    width: Option<u16>,
    has_csv_names: bool,
    to: BufWriter<Stdout>,
}

impl Out {
    pub(crate) fn new(format: Format, is_quiet: bool) -> Self {
        let stdout = io::stdout();
        let is_terminal = stdout.is_terminal();
        let width = Term::stdout().size_checked();
        let width = width.map_or(80, |(_, columns)| columns);
        Self {
            format,
            is_quiet,
            width: is_terminal.then_some(width),
            has_csv_names: false,
            to: BufWriter::new(stdout),
        }
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.is_quiet
    }

    /// The number of characters that fit a line; 80 without a terminal.
    pub(crate) fn width(&self) -> usize {
        self.width.unwrap_or(80).into()
    }

    /// Lines for people. What a terminal would obey is shown instead.
    pub(crate) fn text(&mut self, lines: &str) -> Result<(), Error> {
        for line in lines.split_terminator('\n') {
            writeln!(self.to, "{}", text::printable(line))?;
        }
        Ok(())
    }

    /// A line with a colour, if the output is a terminal that shows some.
    pub(crate) fn toned(&mut self, tone: Tone, line: &str) -> Result<(), Error> {
        if self.width.is_none() || !may_colour() {
            return self.text(line);
        }
        let code = match tone {
            Tone::Good => 32,
            Tone::Bad => 31,
        };
        writeln!(self.to, "\u{1b}[{code}m{}\u{1b}[0m", text::printable(line))?;
        Ok(())
    }

    /// A line of JSON.
    pub(crate) fn json(&mut self, value: &Value) -> Result<(), Error> {
        writeln!(self.to, "{}", json::line(value))?;
        Ok(())
    }

    /// A text of ours for another program: a script, a manual page.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.to.write_all(bytes)?;
        Ok(())
    }

    /// A table, as text or as CSV. Of several tables of one command only the first has its names in CSV.
    pub(crate) fn table(&mut self, table: &Table) -> Result<(), Error> {
        if self.format != Format::Csv {
            let lines = table.text(self.width);
            return self.text(&lines);
        }
        let lines = table.csv(!self.has_csv_names);
        self.has_csv_names = true;
        if self.width.is_some() {
            // A line break inside a value is safe; the rest is shown.
            return self.text(&lines);
        }
        self.to.write_all(lines.as_bytes())?;
        Ok(())
    }

    /// What was written so far reaches its reader.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        self.to.flush()?;
        Ok(())
    }

    /// A remark that is no part of a result, on the standard error.
    pub(crate) fn note(&mut self, message: &str) {
        if !self.is_quiet {
            // After the results that it is about. If they cannot be written, the end of the command says so.
            let _ = self.to.flush();
            self.complain("note", message);
        }
    }

    /// An error, on the standard error.
    pub(crate) fn error(&self, error: &Error) {
        let message = match error.advice() {
            Some(advice) => format!("{error}; {advice}"),
            None => error.to_string(),
        };
        self.complain("error", &message);
    }

    fn complain(&self, kind: &str, message: &str) {
        complain(kind, message, self.format == Format::Json);
    }
}

/// A line on the standard error, without any password. If that is closed, nobody can read it.
pub(crate) fn complain(kind: &str, message: &str, as_json: bool) {
    let secrets = Secrets::of_process();
    let message = match kind {
        "error" => secrets.hide(message),
        _ => secrets.hide_passwords(message),
    };
    let line = if as_json {
        json::line(&json!({ kind: message }))
    } else {
        format!("{kind}: {}", text::printable(&message))
    };
    let _ = writeln!(io::stderr(), "{line}");
}

/// Whether the user wants colours: see <https://no-color.org>.
fn may_colour() -> bool {
    env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && env::var_os("TERM").is_none_or(|term| term != "dumb")
}
