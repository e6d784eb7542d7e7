//! A batch, from its first record until it is settled.

use std::sync::Arc;

use bson::DateTime;
use bucket_core::{EncodeError, Limits, Record, write::Batch};
use tokio::time::Instant;

use super::settlement::Settlement;

/// The overhead of a record besides its item and its key: its place in the batch, its sequence number and the
/// spare capacity of lists.
pub(super) const RECORD_OVERHEAD: usize = 128;
/// The overhead of each value that has an aggregate.
const INPUT_OVERHEAD: usize = 48;
/// The overhead of a batch and of each key in it: the state of its sequence of buckets, and the entry in the
/// map of keys.
pub(super) const KEY_OVERHEAD: usize = 1_024;

/// Encoded records of one shard, and everyone who waits for them.
#[derive(Debug)]
pub(super) struct Gathered {
    pub(super) batch: Batch,
    /// By place in the batch.
    sequences: Vec<u64>,
    /// The bytes counted against the memory bound.
    bytes: usize,
    since: Instant,
    /// A flush waits for it.
    pub(super) is_asked_for: bool,
    settlement: Arc<Settlement>,
}

impl Gathered {
    pub(super) fn of<T: Record>() -> Self {
        Self {
            batch: Batch::of::<T>(),
            sequences: Vec::new(),
            bytes: 0,
            since: Instant::now(),
            is_asked_for: false,
            settlement: Arc::default(),
        }
    }

    pub(super) fn records(&self) -> usize {
        self.sequences.len()
    }

    /// By place in the batch.
    pub(super) fn sequences(&self) -> &[u64] {
        &self.sequences
    }

    /// Items and keys with the overhead of each.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The time when its first record was accepted.
    pub(super) fn since(&self) -> Instant {
        self.since
    }

    pub(super) fn settlement(&self) -> &Arc<Settlement> {
        &self.settlement
    }

    /// Encodes a record. Returns its size as counted against the memory bound.
    ///
    /// A `Serialize` that panics leaves a complete batch, except for aggregate values after its last record:
    /// the batch can be written, but takes no further record.
    pub(super) fn push<T: Record>(
        &mut self,
        record: &T,
        limits: Option<Limits>,
    ) -> Result<usize, EncodeError> {
        if T::SPEC.expire_after().is_some() {
            self.batch.set_now(DateTime::now());
        }
        let bytes_before = self.batch.bytes();
        let keys_before = self.batch.chains().len();
        self.batch.push_with(self.records(), record, limits)?;
        let keys = self.batch.chains().len() - keys_before;
        Ok(self.batch.bytes() - bytes_before
            + keys * KEY_OVERHEAD
            + RECORD_OVERHEAD
            + T::SPEC.inputs().len() * INPUT_OVERHEAD)
    }

    /// Accepts the record that was just encoded. Returns its place.
    pub(super) fn accept(&mut self, bytes: usize, sequence: u64) -> usize {
        if self.sequences.is_empty() {
            self.since = Instant::now();
        }
        self.bytes += bytes;
        self.sequences.push(sequence);
        self.sequences.len() - 1
    }
}
