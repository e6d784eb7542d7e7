//! A record in a batch: where its item is, and what is known about it.

use std::ops::Range;

use bson::DateTime;

/// A record in the batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slot {
    /// The caller's index.
    pub(super) index: usize,
    /// The item's bytes in the batch's buffer.
    pub(super) item: Range<usize>,
    pub(super) time: DateTime,
    /// The row of its inputs.
    pub(super) row: usize,
    /// Its size as counted against `max_bytes`.
    pub(super) bytes: u64,
    /// Its position in its source; 0 without a source.
    pub(super) position: i64,
}
