//! What a write call came to, record by record.

use crate::{
    error::{DamagedBucket, EncodeError},
    index::{Drift, Unmet},
    write::{Action, HeldBack, WriteFailure},
};

/// What became of the records of a call. A record is known by the index that the caller gave it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Report<E> {
    /// So many records are stored.
    pub stored: usize,
    /// The first record of each bucket that was opened.
    pub opened: Vec<usize>,
    /// Records that were stored before, by an earlier call or as an earlier record of this one.
    pub duplicates: Vec<usize>,
    /// Records that are not stored, or not known to be, and why.
    pub failed: Vec<Unstored<E>>,
    /// Why nothing more was tried: the connection is lost, or no record could be stored.
    pub stopped_by: Option<Reason<E>>,
    /// So many commands were sent ..
    pub commands: usize,
    /// .. and so many were sent again because of a fault.
    pub resent: usize,
    /// So many statements were refused because a bucket was not as last seen.
    pub missed: usize,
}

/// Records that are not stored, or not known to be, for one reason.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Unstored<E> {
    /// Their indexes.
    pub records: Vec<usize>,
    /// Why.
    pub reason: Reason<E>,
}

/// Why a record is not stored, or not known to be.
#[derive(Debug, Clone)]
pub enum Reason<E> {
    /// A read or a command failed: what the executor says of it.
    Failed {
        /// The executor's error.
        error: E,
        /// Something of it may be applied.
        unknown: bool,
    },
    /// The server refused the statement that brought it.
    Refused {
        /// What the statement did.
        action: Box<Action>,
        /// What the server says.
        failure: WriteFailure,
    },
    /// Its time is before the newest bucket, and the model refuses such records.
    Late(EncodeError),
    /// A document of the collection is no bucket of the model.
    Damaged(DamagedBucket),
    /// The collection lacks an index that writes rest on.
    Unmet(Unmet),
    /// The collection is not one that can hold buckets.
    Drift(Drift),
    /// Other writers of the key were faster so often.
    Contention {
        /// How often it was tried.
        attempts: u32,
    },
    /// Its id is stored with other data.
    Conflict {
        /// The id, as text.
        id: String,
    },
    /// An earlier record of its source is not known to be stored.
    HeldBack(HeldBack),
    /// The call that brought it went before it was sent.
    Withdrawn,
    /// A try that was lost may have been applied late.
    LostTry,
    /// Another command had the number of the one that brought it.
    TakenNumber,
    /// It is stored, but the write concern was not met: it may be rolled back.
    Concern(WriteFailure),
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
}

impl<E> Default for Report<E> {
    fn default() -> Self {
        Self {
            stored: 0,
            opened: Vec::new(),
            duplicates: Vec::new(),
            failed: Vec::new(),
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

    /// Nothing more is tried.
    pub(super) fn stop(&mut self, reason: Reason<E>) {
        self.stopped_by = Some(reason);
    }
}
