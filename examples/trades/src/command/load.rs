//! `trades load FILE.csv`.

use std::{
    fs::File,
    io::{BufReader, Write},
    path::Path,
    process::ExitCode,
};

use bucket_mongo::{Bucketed as _, Buckets};
use indicatif::ProgressBar;
use serde::Serialize;

use super::{note, print_json};
use crate::{
    cli::Format,
    csv_input::{FileError, HeaderError, RowError, Rows},
    error::Error,
    loader::{self, Listener, Loaded},
    model::Trade,
    progress,
    server::Server,
    text,
};

pub(super) async fn run(
    file: &Path,
    format: Format,
    out: &mut impl Write,
) -> Result<ExitCode, Error> {
    let (mut rows, bytes) = open(file)?;
    let server = Server::start().await?;
    let buckets = Trade::buckets(&server.database().await?);
    let ensured = buckets.ensure().await?;
    if !ensured.drift.is_empty() {
        note(&ensured.to_string(), format);
    }
    let mut reporter = Reporter {
        bar: progress::bar(bytes),
        format,
        failed: Vec::new(),
    };
    let loaded = loader::load(&buckets, &mut rows, &mut reporter).await;
    reporter.bar.finish_and_clear();
    match format {
        Format::Text => out.write_all(summary(&loaded, &buckets).as_bytes())?,
        Format::Json => print_json(&Report::new(&loaded, &reporter.failed), out)?,
    }
    if !server.is_lasting() {
        note(
            "MONGODB_URI is not set: the trades go away with the development server",
            format,
        );
    }
    let is_complete = loaded.failed() == 0;
    match loaded.stopped {
        Some(error) => Err(error),
        None if is_complete => Ok(ExitCode::SUCCESS),
        None => Ok(ExitCode::FAILURE),
    }
}

/// The rows of a file, and its length if it has one.
fn open(path: &Path) -> Result<(Rows<BufReader<File>>, Option<u64>), FileError> {
    let unreadable = |source| FileError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    let header = |error: HeaderError| FileError::Header {
        path: path.to_owned(),
        error,
    };
    let rows = Rows::new(BufReader::new(file)).map_err(header)?;
    Ok((rows, metadata.is_file().then_some(metadata.len())))
}

fn summary(loaded: &Loaded, buckets: &Buckets<Trade>) -> String {
    let Loaded {
        read,
        stored,
        buckets: opened,
        customers,
        ..
    } = loaded;
    let spec = buckets.spec();
    let failed = match loaded.failed() {
        0 => String::new(),
        failed => format!("{failed} of {} not loaded\n", text::counted(*read, "row")),
    };
    format!(
        "{} of {} -> {} ({} per bucket) in `{}.{}`\n{failed}",
        text::counted(*stored, "trade"),
        text::counted(customers.len() as u64, "customer"),
        text::counted(*opened, "new bucket"),
        spec.capacity(),
        buckets.database().name(),
        spec.collection(),
    )
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
    fn new(loaded: &Loaded, failed: &'a [RowError]) -> Self {
        let Loaded {
            read,
            stored,
            buckets,
            ..
        } = *loaded;
        Self {
            read,
            stored,
            buckets,
            failed,
        }
    }
}

/// Moves the bar and tells rows that failed: in text at once, in JSON as a part of the result.
struct Reporter {
    bar: ProgressBar,
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
        self.bar.set_message(text::counted(stored, "trade"));
    }
}
