//! The command `load FILE.csv`: stores the rows of a file, and reports why a row is not stored.

mod chunks;
mod loader;

use std::{
    fs::File,
    io::{BufReader, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use bucket_mongo::{BucketSpec, Bucketed, Buckets, Form, mongodb::Database};
use clap::Args;
use serde::Serialize;

use self::loader::{Listener, Loaded};
use crate::{
    cli::{Format, Output},
    csv_input::{FileError, FromRow, HeaderError, RowError, Rows},
    error::Error,
    json,
    progress::{self, ProgressBar},
    server::Server,
    signal::Signals,
    text,
};

/// The options of the command.
#[derive(Debug, Args)]
pub struct Input {
    /// The file
    #[arg(value_name = "FILE.csv")]
    file: PathBuf,
    /// Begin at this line, counted from 1: a stopped load prints where to continue
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = line_number, hide_default_value = true)]
    from_line: u64,
    #[command(flatten)]
    output: Output,
}

impl Input {
    /// The form of the output.
    #[must_use]
    pub fn format(&self) -> Format {
        self.output.format()
    }
}

fn line_number(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(number @ 1..) => Ok(number),
        _ => Err("a line is a whole number from 1".to_owned()),
    }
}

/// What an app loads.
#[derive(Debug)]
pub struct Load<T: Bucketed> {
    /// The app.
    pub app: &'static str,
    /// What a row is, such as `trade`.
    pub record: &'static str,
    /// What a key is, such as `customer`.
    pub key: &'static str,
    /// Where the records are stored.
    pub buckets: fn(&Database) -> Buckets<T>,
}

impl<T: Bucketed + FromRow> Load<T> {
    /// Loads a file.
    pub async fn run(&self, input: &Input, out: &mut impl Write) -> Result<ExitCode, Error> {
        let (rows, bytes) = open::<T>(&input.file)?;
        let rows = rows.starting_at(input.from_line);
        let load = async |server: &Server| self.run_on(server, input, rows, bytes, out).await;
        Server::run(self.app, load).await
    }

    async fn run_on(
        &self,
        server: &Server,
        input: &Input,
        rows: Rows<BufReader<File>, T>,
        bytes: Option<u64>,
        out: &mut impl Write,
    ) -> Result<ExitCode, Error> {
        let format = input.format();
        let mut signals = Signals::listen();
        let buckets = (self.buckets)(&server.database());
        let ensured = tokio::select! {
            ensured = buckets.ensure() => ensured?,
            signal = signals.first() => return Err(Error::Interrupted(signal)),
        };
        if !ensured.drift.is_empty() {
            format.note(&ensured.to_string());
        }
        let mut reporter = Reporter {
            bar: progress::bytes(bytes),
            record: self.record,
            format,
            failed: Vec::new(),
        };
        let mut chunks = chunks::of(rows).map_err(Error::Input)?;
        let loaded = loader::load(&buckets, &mut chunks, &mut signals, &mut reporter).await;
        reporter.bar.finish_and_clear();
        match format {
            Format::Text => out.write_all(self.summary(&loaded, &buckets).as_bytes())?,
            Format::Json => json::print(&Report::new(&loaded, &reporter.failed), out)?,
        }
        if !server.is_lasting() {
            let record = self.record;
            format.note(&format!(
                "MONGODB_URI is not set: the {record}s go away with the development server"
            ));
        } else if loaded.stopped.is_some() && format == Format::Text {
            // The report in JSON has the line.
            format.note(&self.how_to_go_on(&loaded, &input.file));
        }
        let is_complete = loaded.failed() == 0;
        match loaded.stopped {
            Some(error) => Err(error),
            None if is_complete => Ok(ExitCode::SUCCESS),
            None => Ok(ExitCode::FAILURE),
        }
    }

    /// The command that loads the rest of a file.
    fn how_to_go_on(&self, loaded: &Loaded<T>, file: &Path) -> String {
        let next = loaded.next_line;
        let unknown = loaded.unknown_to.map_or_else(String::new, |last| {
            format!("it is not known whether the lines {next} to {last} are stored: check first\n")
        });
        format!(
            "{unknown}the rest of the file is not loaded; to go on:\n  {} load {} --from-line {next}",
            self.app,
            text::shell_word(&file.display().to_string()),
        )
    }

    fn summary(&self, loaded: &Loaded<T>, buckets: &Buckets<T>) -> String {
        let failed = match loaded.failed() {
            0 => String::new(),
            failed => format!(
                "{failed} of {} not loaded\n",
                text::counted(loaded.read, "row")
            ),
        };
        let spec = buckets.spec();
        format!(
            "{} of {} -> {}{} in `{}.{}`\n{failed}",
            text::counted(loaded.stored, self.record),
            text::counted(loaded.keys.len() as u64, self.key),
            text::counted(loaded.buckets, "new bucket"),
            per_bucket(spec),
            buckets.database().name(),
            spec.collection(),
        )
    }
}

/// The capacity, if only the capacity closes a bucket.
fn per_bucket(spec: &BucketSpec) -> String {
    match spec.form() {
        Form::Count { capacity } => format!(" ({capacity} per bucket)"),
        _ => String::new(),
    }
}

/// The rows of a file, and its length if it has one.
#[expect(clippy::type_complexity, reason = "a pair that is taken apart at once")]
fn open<T: FromRow>(path: &Path) -> Result<(Rows<BufReader<File>, T>, Option<u64>), FileError> {
    let unreadable = |source| FileError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    let header = |error: HeaderError| FileError::header::<T>(path.to_owned(), error);
    let rows = Rows::new(BufReader::new(file)).map_err(header)?;
    Ok((rows, metadata.is_file().then_some(metadata.len())))
}

/// The result in JSON.
#[derive(Debug, Serialize)]
struct Report<'a> {
    read: u64,
    stored: u64,
    buckets: u64,
    failed: &'a [RowError],
    /// The first line of the rest of a file that was not fully loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_line: Option<u64>,
    /// The lines from there up to this one may or may not be stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown_to: Option<u64>,
}

impl<'a> Report<'a> {
    fn new<T: Bucketed>(loaded: &Loaded<T>, failed: &'a [RowError]) -> Self {
        Self {
            read: loaded.read,
            stored: loaded.stored,
            buckets: loaded.buckets,
            failed,
            next_line: loaded.stopped.as_ref().map(|_| loaded.next_line),
            unknown_to: loaded.unknown_to,
        }
    }
}

/// Moves the bar and reports failed rows: in text at once, in JSON as part of the result.
struct Reporter {
    bar: ProgressBar,
    record: &'static str,
    format: Format,
    failed: Vec<RowError>,
}

impl Listener for Reporter {
    fn failed(&mut self, error: RowError) {
        match self.format {
            Format::Text => self.bar.suspend(|| text::complain(&error.to_string())),
            Format::Json => self.failed.push(error),
        }
    }

    fn advanced(&mut self, bytes: u64, stored: u64) {
        self.bar.set_position(bytes);
        self.bar.set_message(text::counted(stored, self.record));
    }
}
