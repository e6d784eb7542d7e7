//! What a chain keeps between statements, besides its records and its tail.

use crate::bucket::id::Place;

/// The outcome of using a hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recalled {
    Nothing,
    Unverified,
    InVain,
}

/// How a chain may use buckets without records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EmptyBuckets {
    /// They may be opened, and taken over.
    Reserved,
    /// They are not opened: a refusal could end the transaction.
    Unreserved,
    /// The collection has refused one.
    Refused,
}

/// The reserved bucket that a chain has waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Patience {
    /// The bucket.
    pub(super) id: String,
    /// It was still reserved.
    pub(super) reserved: bool,
    pub(super) pauses: usize,
}

/// An open bucket, and a later one with a position of the source.
#[derive(Debug)]
pub(super) struct Overtaken {
    pub(super) open: String,
    pub(super) later: String,
    /// The pauses before it was looked at again.
    pub(super) pauses: usize,
}

impl Overtaken {
    pub(super) const fn new(open: String, later: String) -> Self {
        Self {
            open,
            later,
            pauses: 0,
        }
    }

    /// The same open bucket was seen once more.
    pub(super) fn by(self, later: String) -> Self {
        Self { later, ..self }
    }
}

/// How many of the pending records were looked for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Suspects {
    /// The number of records, from the first one, that must be looked for,
    pub(super) due: usize,
    /// and the number that already were.
    pub(super) asked: usize,
}

impl Suspects {
    /// Every record must be looked for.
    pub(super) const ALL: Self = Self {
        due: usize::MAX,
        asked: 0,
    };

    /// This number of first records is taken out.
    pub(super) fn pass(&mut self, records: usize) {
        self.due = self.due.saturating_sub(records);
        self.asked = self.asked.saturating_sub(records);
    }
}

/// An id that could not be opened after the bucket that was seen as the last one.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) id: String,
    pub(super) behind: Option<String>,
    pub(super) times: u32,
    pub(super) beside: Beside,
}

/// The last bucket for late records of the time of a bucket that could not be opened. Buckets in order come first,
/// so it has that time only if the newest of them was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beside {
    Unasked,
    Nothing,
    At(Place),
}

/// A bucket that refused a statement, and the count and size up to which it should have taken it.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) id: String,
    pub(super) count: u32,
    pub(super) bytes: u64,
    /// The largest count that was seen of it. Fewer records are in another bucket, which was opened since.
    pub(super) seen: u32,
    /// The number of refusals in a row. One proves nothing: the bucket may have been deleted and opened again.
    pub(super) times: u32,
}
