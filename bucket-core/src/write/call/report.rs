//! The result of a write call, record by record.

use crate::{
    error::{DamagedBucket, EncodeError},
    index::{Drift, Unmet},
    write::{Action, Contested, HeldBack, WriteFailure},
};

/// The outcome of the records of a call. A record is identified by the caller's index.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Report<E> {
    /// The number of stored records.
    pub stored: usize,
    /// The first record of each bucket that was opened.
    pub opened: Vec<usize>,
    /// Records that were already stored, by an earlier call or as an earlier record of this one.
    pub duplicates: Vec<usize>,
    /// Records that are not stored, or may not be, and why.
    pub failed: Vec<Unstored<E>>,
    /// The records whose id another record of their key has, if the batch keeps them, in the order of the caller.
    pub contested: Vec<Contested>,
    /// Why the call stopped early: the connection was lost, or no record could be stored.
    pub stopped_by: Option<Reason<E>>,
    /// The number of commands sent ..
    pub commands: usize,
    /// .. and the number sent again because of a fault.
    pub resent: usize,
    /// The number of statements refused because a bucket was not as last seen.
    pub missed: usize,
}

/// Records that are not stored, or may not be, for one reason.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Unstored<E> {
    /// Their indexes.
    pub records: Vec<usize>,
    /// Why.
    pub reason: Reason<E>,
}

/// Why a record is not stored, or may not be.
#[derive(Debug, Clone)]
pub enum Reason<E> {
    /// A read or a command failed, with the executor's error.
    Failed {
        /// The executor's error.
        error: E,
        /// Part of it may be applied.
        unknown: bool,
    },
    /// The server refused the record's statement.
    Refused {
        /// What the statement did.
        action: Box<Action>,
        /// What the server says.
        failure: WriteFailure,
    },
    /// Its time is before the newest bucket, and the model refuses such records.
    Late(EncodeError),
    /// A document of the collection is not a bucket of the model.
    Damaged(DamagedBucket),
    /// The collection lacks an index that writes depend on.
    Unmet(Unmet),
    /// The collection is not one that can hold buckets.
    Drift(Drift),
    /// The call gave up after this many conflicts with other writers of the key.
    Contention {
        /// The number of attempts.
        attempts: u32,
    },
    /// A bulk load may be storing records of its source, where a transaction does not see them.
    Reserved,
    /// Its id is already stored with other data.
    Conflict {
        /// The id, as text.
        id: String,
    },
    /// An earlier record of its source may not be stored.
    HeldBack(HeldBack),
    /// Its caller left before it was sent.
    Withdrawn,
    /// An attempt that lost its connection may have been applied late.
    LostTry,
    /// Another command used the same transaction number.
    TakenNumber,
    /// It is stored, but the write concern was not met: it may be rolled back.
    Concern(WriteFailure),
    /// It was not sent: the server has refused another record of the call, and ended the transaction with it.
    TransactionEnded,
    /// It was not sent, for the reason that stopped the call.
    NotSent(Box<Reason<E>>),
}

impl<E> Reason<E> {
    /// Whether the record may be stored, now or later.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        match self {
            Self::Failed { unknown, .. } => *unknown,
            Self::LostTry | Self::TakenNumber | Self::Concern(_) => true,
            _ => false,
        }
    }

    pub(super) fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict { .. })
    }
}

impl<E> Default for Report<E> {
    fn default() -> Self {
        Self {
            stored: 0,
            opened: Vec::new(),
            duplicates: Vec::new(),
            failed: Vec::new(),
            contested: Vec::new(),
            stopped_by: None,
            commands: 0,
            resent: 0,
            missed: 0,
        }
    }
}

impl<E: Clone> Report<E> {
    pub(super) fn fail(&mut self, records: Vec<usize>, reason: Reason<E>) {
        if !records.is_empty() {
            self.failed.push(Unstored { records, reason });
        }
    }

    pub(super) fn fail_one(&mut self, record: usize, reason: Reason<E>) {
        self.fail(vec![record], reason);
    }

    /// Stops the call: nothing more is tried.
    pub(super) fn stop(&mut self, reason: Reason<E>) {
        self.stopped_by = Some(reason);
    }
}
