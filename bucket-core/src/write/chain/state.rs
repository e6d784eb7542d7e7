//! What a chain keeps from one statement to the next, beside its records and its tail.

/// What became of a recollection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recalled {
    Nothing,
    Hearsay,
    InVain,
}

/// What may be done with buckets without records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EmptyBuckets {
    /// They may be opened, and taken over.
    Reserved,
    /// They are not opened: a refusal may be the end of all.
    Unreserved,
    /// The collection has refused one.
    Refused,
}

/// What a chain has waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Patience {
    /// The bucket.
    pub(super) id: String,
    /// It was still reserved.
    pub(super) reserved: bool,
    pub(super) pauses: usize,
}

/// How far the pending records were looked for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Suspects {
    /// So many from the first one on are to be looked for,
    pub(super) due: usize,
    /// and so many of them have been.
    pub(super) asked: usize,
}

impl Suspects {
    /// Every record is to be looked for.
    pub(super) const ALL: Self = Self {
        due: usize::MAX,
        asked: 0,
    };
}

/// An id that could not be opened behind the bucket that was seen as the last one.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) id: String,
    pub(super) behind: Option<String>,
    pub(super) times: u32,
}

/// A bucket that refused a statement, and up to which count and size it should have taken it.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) id: String,
    pub(super) count: u32,
    pub(super) bytes: u64,
    /// How often in a row. Once proves nothing: the bucket may have been deleted and begun anew.
    pub(super) times: u32,
}
