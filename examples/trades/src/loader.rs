//! From rows to buckets: chunks of a file of any size, and of each row what became of it.

use std::{collections::HashSet, io::BufRead};

use bucket_mongo::Buckets;

use crate::{
    csv_input::{Row, RowError, Rows},
    error::Error,
    model::Trade,
};

/// Rows that are in memory at the same time; the more, the more of one customer go in one statement.
const CHUNK: usize = 10_000;

/// Hears of the load while it goes on.
pub(crate) trait Listener {
    /// A row is not stored.
    fn failed(&mut self, error: RowError);

    /// This much of the file is done.
    fn advanced(&mut self, bytes: u64, stored: u64);
}

/// What became of a file.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    /// Rows that were read.
    pub(crate) read: u64,
    /// Rows that are stored.
    pub(crate) stored: u64,
    /// Buckets that were opened for them.
    pub(crate) buckets: u64,
    /// The customers of the stored rows.
    pub(crate) customers: HashSet<i64>,
    /// Why the rest of the file was not read, if it was not.
    pub(crate) stopped: Option<Error>,
}

impl Loaded {
    /// Rows that are not stored, or not known to be.
    pub(crate) fn failed(&self) -> u64 {
        self.read - self.stored
    }
}

/// Stores all rows that can be stored.
pub(crate) async fn load<R: BufRead>(
    buckets: &Buckets<Trade>,
    rows: &mut Rows<R>,
    listener: &mut impl Listener,
) -> Loaded {
    let mut loaded = Loaded::default();
    while loaded.stopped.is_none() {
        // A short read of a file: not worth a thread of its own.
        let chunk = read_chunk(rows, &mut loaded, listener);
        if chunk.is_empty() {
            break;
        }
        if let Err(error) = store_chunk(buckets, chunk, &mut loaded, listener).await {
            loaded.stopped = Some(error);
        }
        listener.advanced(rows.bytes_read(), loaded.stored);
    }
    loaded
}

/// The next good rows; none at the end of the file.
fn read_chunk<R: BufRead>(
    rows: &mut Rows<R>,
    loaded: &mut Loaded,
    listener: &mut impl Listener,
) -> Vec<Row> {
    let mut chunk = Vec::with_capacity(CHUNK);
    while chunk.len() < CHUNK {
        match rows.next_row() {
            Ok(None) => break,
            Ok(Some(row)) => {
                loaded.read += 1;
                match row {
                    Ok(row) => chunk.push(row),
                    Err(error) => listener.failed(error),
                }
            }
            Err(error) => {
                loaded.stopped = Some(Error::Input(error));
                break;
            }
        }
    }
    chunk
}

/// Stores a chunk; an error means that the next one would not be stored either.
async fn store_chunk(
    buckets: &Buckets<Trade>,
    chunk: Vec<Row>,
    loaded: &mut Loaded,
    listener: &mut impl Listener,
) -> Result<(), Error> {
    let report = buckets
        .insert_many(chunk.iter().map(|row| &row.trade))
        .await?;
    loaded.stored += report.stored() as u64;
    loaded.buckets += report.opened_buckets() as u64;
    let stored = chunk
        .iter()
        .enumerate()
        .filter(|(index, _)| report.is_stored(*index));
    loaded
        .customers
        .extend(stored.map(|(_, row)| row.trade.customer_id));
    for failed in report.failed() {
        let line = chunk.get(failed.index).map_or(0, |row| row.line);
        listener.failed(RowError {
            line,
            column: None,
            reason: failed.error.kind().to_string(),
        });
    }
    match report.stopped_by() {
        Some(error) => Err(Error::Buckets(error.clone())),
        None => Ok(()),
    }
}
