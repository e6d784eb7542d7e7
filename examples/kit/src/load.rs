//! The command `load FILE.csv`: stores the rows of a file, and says of each that is not stored why.

mod loader;

use std::{
    fs::File,
    io::{BufReader, Write},
    path::Path,
    process::ExitCode,
};

use bucket_mongo::{BucketSpec, Bucketed, Buckets, core::Form, mongodb::Database};
use serde::Serialize;

use self::loader::{Listener, Loaded};
use crate::{
    cli::Format,
    csv_input::{FileError, FromRow, HeaderError, RowError, Rows},
    error::Error,
    json,
    progress::{self, ProgressBar},
    server::Server,
    text,
};

/// What an app loads.
#[derive(Debug)]
pub struct Load<T: Bucketed> {
    /// The app.
    pub app: &'static str,
    /// What a row is, such as `trade`.
    pub record: &'static str,
    /// What a key stands for, such as `customer`.
    pub key: &'static str,
    /// Where the records go.
    pub buckets: fn(&Database) -> Buckets<T>,
}

impl<T: Bucketed + FromRow> Load<T> {
    /// Loads a file.
    pub async fn run(
        &self,
        file: &Path,
        format: Format,
        out: &mut impl Write,
    ) -> Result<ExitCode, Error> {
        let (mut rows, bytes) = open::<T>(file)?;
        let load = async |server: &Server| self.run_on(server, &mut rows, bytes, format, out).await;
        Server::run(self.app, load).await
    }

    async fn run_on(
        &self,
        server: &Server,
        rows: &mut Rows<BufReader<File>, T>,
        bytes: Option<u64>,
        format: Format,
        out: &mut impl Write,
    ) -> Result<ExitCode, Error> {
        let buckets = (self.buckets)(&server.database());
        let ensured = buckets.ensure().await?;
        if !ensured.drift.is_empty() {
            format.note(&ensured.to_string());
        }
        let mut reporter = Reporter {
            bar: progress::bytes(bytes),
            record: self.record,
            format,
            failed: Vec::new(),
        };
        let loaded = loader::load(&buckets, rows, &mut reporter).await;
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
        }
        let is_complete = loaded.failed() == 0;
        match loaded.stopped {
            Some(error) => Err(error),
            None if is_complete => Ok(ExitCode::SUCCESS),
            None => Ok(ExitCode::FAILURE),
        }
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

/// The capacity, where it is all that closes a bucket.
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
}

impl<'a> Report<'a> {
    fn new<T: Bucketed>(loaded: &Loaded<T>, failed: &'a [RowError]) -> Self {
        Self {
            read: loaded.read,
            stored: loaded.stored,
            buckets: loaded.buckets,
            failed,
        }
    }
}

/// Moves the bar and tells rows that failed: in text at once, in JSON as a part of the result.
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
