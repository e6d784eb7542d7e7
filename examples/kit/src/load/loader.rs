//! From rows to buckets: loads files of any size in chunks, and records the outcome of each row.

use std::{collections::HashSet, pin::pin, time::Duration};

use bucket_mongo::{Bucketed, Buckets, InsertReport};
use tokio::sync::mpsc;

use super::chunks::Chunk;
use crate::{
    csv_input::{Row, RowError},
    error::Error,
    signal::Signals,
};

/// How long requests in flight may take to end after a signal.
const GRACE: Duration = Duration::from_secs(5);

/// Receives events while the load runs.
pub(super) trait Listener {
    /// A row is not stored.
    fn failed(&mut self, error: RowError);

    /// This much of the file is done.
    fn advanced(&mut self, bytes: u64, stored: u64);
}

/// The outcome of a load.
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
    /// Why the rest of the file was not loaded, if it was not.
    pub(super) stopped: Option<Error>,
    /// The first line of the rest, once there is one.
    pub(super) next_line: u64,
    /// The last of the lines from `next_line` on that may or may not be stored.
    pub(super) unknown_to: Option<u64>,
}

impl<T: Bucketed> Loaded<T> {
    fn new() -> Self {
        Self {
            read: 0,
            stored: 0,
            buckets: 0,
            keys: HashSet::new(),
            stopped: None,
            next_line: 1,
            unknown_to: None,
        }
    }

    /// Rows that are not stored, or that may not be.
    pub(super) fn failed(&self) -> u64 {
        self.read - self.stored
    }

    fn stop(&mut self, why: Error) {
        self.stopped.get_or_insert(why);
    }

    /// Takes in the outcome of a chunk; adds its failed rows to it.
    fn add(&mut self, chunk: &mut Chunk<T>, report: &InsertReport) {
        self.stored += report.stored() as u64;
        self.buckets += report.opened_buckets() as u64;
        let rows = chunk.rows.iter().enumerate();
        let stored = rows.filter(|(index, _)| report.is_stored(*index));
        self.keys.extend(stored.map(|(_, row)| row.record.key()));
        let line = |index: usize| chunk.rows.get(index).map_or(0, |row| row.line);
        chunk
            .failed
            .extend(report.failed().iter().map(|failed| RowError {
                line: line(failed.index),
                column: None,
                reason: failed.error.kind().to_string(),
            }));
        if let Some(error) = report.stopped_by() {
            self.stop(Error::Buckets(error.clone()));
            // Every row that was tried is stored, or is reported as failed.
            if let Some(row) = chunk.rows.get(report.tried()) {
                self.next_line = row.line;
            }
        }
    }
}

/// Stores all rows that can be stored, until the end of the file or a signal.
pub(super) async fn load<T: Bucketed>(
    buckets: &Buckets<T>,
    chunks: &mut mpsc::Receiver<Chunk<T>>,
    signals: &mut Signals,
    listener: &mut impl Listener,
) -> Loaded<T> {
    let mut loaded = Loaded::new();
    while loaded.stopped.is_none() {
        let chunk = tokio::select! {
            chunk = chunks.recv() => chunk,
            signal = signals.first() => {
                loaded.stop(Error::Interrupted(signal));
                None
            }
        };
        let Some(mut chunk) = chunk else {
            break;
        };
        loaded.read += (chunk.rows.len() + chunk.failed.len()) as u64;
        loaded.next_line = chunk.next_line;
        store(buckets, &mut chunk, signals, &mut loaded).await;
        chunk.failed.sort_by_key(|error| error.line);
        for error in chunk.failed {
            listener.failed(error);
        }
        listener.advanced(chunk.bytes, loaded.stored);
        if let Some(error) = chunk.broken {
            loaded.stop(Error::Input(error));
        }
    }
    loaded
}

/// Stores the rows of a chunk. After a signal, requests in flight get some time to end.
async fn store<T: Bucketed>(
    buckets: &Buckets<T>,
    chunk: &mut Chunk<T>,
    signals: &mut Signals,
    loaded: &mut Loaded<T>,
) {
    let (Some(first), Some(last)) = (chunk.rows.first().map(line), chunk.rows.last().map(line))
    else {
        return;
    };
    let records: Vec<&T> = chunk.rows.iter().map(|row| &row.record).collect();
    let ended = {
        let mut storing = pin!(buckets.insert_many(records).into_future());
        tokio::select! {
            ended = &mut storing => Some(ended),
            signal = signals.first() => {
                loaded.stop(Error::Interrupted(signal));
                tokio::time::timeout(GRACE, &mut storing).await.ok()
            }
        }
    };
    match ended {
        Some(Ok(report)) => loaded.add(chunk, &report),
        Some(Err(error)) => {
            loaded.next_line = first;
            loaded.unknown_to = error.is_outcome_unknown().then_some(last);
            loaded.stop(Error::Buckets(error));
        }
        None => {
            loaded.next_line = first;
            loaded.unknown_to = Some(last);
        }
    }
}

fn line<T>(row: &Row<T>) -> u64 {
    row.line
}
