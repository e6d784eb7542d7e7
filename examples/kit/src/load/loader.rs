//! From rows to buckets: chunks of a file of any size, and of each row what became of it.

use std::{collections::HashSet, io::BufRead};

use bucket_mongo::{Bucketed, Buckets};

use crate::{
    csv_input::{FromRow, Row, RowError, Rows},
    error::Error,
};

/// Rows that are in memory at the same time; the more, the more of one key go in one statement.
const CHUNK: usize = 10_000;

/// Hears of the load while it goes on.
pub(super) trait Listener {
    /// A row is not stored.
    fn failed(&mut self, error: RowError);

    /// This much of the file is done.
    fn advanced(&mut self, bytes: u64, stored: u64);
}

/// What became of a file.
#[derive(Debug)]
pub(super) struct Loaded<T: Bucketed> {
    /// Rows that were read.
    pub(super) read: u64,
    /// Rows that are stored.
    pub(super) stored: u64,
    /// Buckets that were opened for them.
    pub(super) buckets: u64,
    /// The keys of the stored rows.
    pub(super) keys: HashSet<T::Key>,
    /// Why the rest of the file was not read, if it was not.
    pub(super) stopped: Option<Error>,
}

impl<T: Bucketed> Loaded<T> {
    fn new() -> Self {
        Self {
            read: 0,
            stored: 0,
            buckets: 0,
            keys: HashSet::new(),
            stopped: None,
        }
    }

    /// Rows that are not stored, or not known to be.
    pub(super) fn failed(&self) -> u64 {
        self.read - self.stored
    }
}

/// Stores all rows that can be stored.
pub(super) async fn load<R: BufRead, T: Bucketed + FromRow>(
    buckets: &Buckets<T>,
    rows: &mut Rows<R, T>,
    listener: &mut impl Listener,
) -> Loaded<T> {
    let mut loaded = Loaded::new();
    while loaded.stopped.is_none() {
        // A short read of a file: not worth a thread of its own.
        let (chunk, mut failed) = read_chunk(rows, &mut loaded);
        let is_end = chunk.is_empty();
        if !is_end {
            let stored = store_chunk(buckets, chunk, &mut loaded, &mut failed).await;
            loaded.stopped = stored.err().or(loaded.stopped);
        }
        failed.sort_by_key(|error| error.line);
        for error in failed {
            listener.failed(error);
        }
        if is_end {
            break;
        }
        listener.advanced(rows.bytes_read(), loaded.stored);
    }
    loaded
}

/// The next good rows, none at the end of the file, and the wrong ones between them.
fn read_chunk<R: BufRead, T: Bucketed + FromRow>(
    rows: &mut Rows<R, T>,
    loaded: &mut Loaded<T>,
) -> (Vec<Row<T>>, Vec<RowError>) {
    let mut chunk = Vec::with_capacity(CHUNK);
    let mut failed = Vec::new();
    while chunk.len() < CHUNK {
        match rows.next_row() {
            Ok(None) => break,
            Ok(Some(row)) => {
                loaded.read += 1;
                match row {
                    Ok(row) => chunk.push(row),
                    Err(error) => failed.push(error),
                }
            }
            Err(error) => {
                loaded.stopped = Some(Error::Input(error));
                break;
            }
        }
    }
    (chunk, failed)
}

/// Stores a chunk; an error means that the next one would not be stored either.
async fn store_chunk<T: Bucketed>(
    buckets: &Buckets<T>,
    chunk: Vec<Row<T>>,
    loaded: &mut Loaded<T>,
    failed: &mut Vec<RowError>,
) -> Result<(), Error> {
    let report = buckets
        .insert_many(chunk.iter().map(|row| &row.record))
        .await?;
    loaded.stored += report.stored() as u64;
    loaded.buckets += report.opened_buckets() as u64;
    let stored = chunk
        .iter()
        .enumerate()
        .filter(|(index, _)| report.is_stored(*index));
    loaded.keys.extend(stored.map(|(_, row)| row.record.key()));
    failed.extend(report.failed().iter().map(|failed| RowError {
        line: chunk.get(failed.index).map_or(0, |row| row.line),
        column: None,
        reason: failed.error.kind().to_string(),
    }));
    match report.stopped_by() {
        Some(error) => Err(Error::Buckets(error.clone())),
        None => Ok(()),
    }
}
