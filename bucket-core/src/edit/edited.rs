//! What an edit has made, or why it has made nothing.

use super::{
    edit_error::EditError,
    which::{Which, WhichError},
};
use crate::write::WriteFailure;

/// What an edit has made, or would make.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Edited<T> {
    /// Of an edit of one record: the record as it is now, or as it was if it is removed or replaced.
    pub record: Option<T>,
    /// Of a correction of one record: what it has done.
    pub corrected: Corrected,
    /// Of a removal: the number of records.
    pub records: u64,
    /// Of a removal: the number of buckets that they were in.
    pub buckets: u64,
    /// Of a removal from a merged bucket: the places of the buckets that it was made of, as references name them.
    pub places: Vec<(u128, u128)>,
}

/// What a correction of a record has done.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Corrected {
    /// Nothing: there is no such record, or it was stored so before.
    #[default]
    Nothing,
    /// Nothing: the stored record stays, because the other one does not replace it.
    Superseded,
    /// The record is in its place.
    InPlace,
    /// The record is taken out of its bucket, and goes to another one: insert it there.
    TakenOut {
        /// The record by its id, if it has one and its key is another one now.
        released: Option<Which>,
    },
}

/// Why an edit has made nothing, or not everything.
#[derive(Debug, Clone)]
pub enum EditFailure {
    /// The search for the record cannot begin. Nothing was sent.
    Which(WhichError),
    /// The edit cannot be made. Nothing was sent.
    Edit(EditError),
    /// The record was edited after its reference was read. Nothing was sent.
    Changed,
    /// The server refused the statement for this reason: nothing was changed.
    Refused(WriteFailure),
    /// The write concern was not met: the change is made, and may be rolled back.
    Unconfirmed(WriteFailure),
    /// An attempt that lost its connection may have been applied: the outcome is not known.
    LostTry,
    /// Other writers came first until the deadline: nothing was changed.
    Contention {
        /// The number of attempts.
        attempts: u32,
    },
}

impl<T> Edited<T> {
    pub(super) fn corrected(record: T, corrected: Corrected) -> Self {
        Self {
            record: Some(record),
            corrected,
            ..Self::removed(0)
        }
    }

    pub(super) fn of(record: T) -> Self {
        Self {
            record: Some(record),
            ..Self::removed(1)
        }
    }

    /// Records of one bucket.
    pub(super) fn removed(records: usize) -> Self {
        Self {
            record: None,
            corrected: Corrected::Nothing,
            records: u64::try_from(records).unwrap_or(u64::MAX),
            buckets: u64::from(records > 0),
            places: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.record = other.record;
        self.corrected = other.corrected;
        self.records = self.records.saturating_add(other.records);
        self.buckets = self.buckets.saturating_add(other.buckets);
        self.places.extend(other.places);
    }
}

impl<T> Default for Edited<T> {
    fn default() -> Self {
        Self::removed(0)
    }
}
