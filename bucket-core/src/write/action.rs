//! What a statement does.

use bson::DateTime;

use crate::{bucket::id, model::spec::BucketSpec};

/// What a statement does; see the [module](super) for the forms.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Appends to the bucket with this id if it exists and has room. A miss leaves no trace, so it is sent in
    /// a command of its own. The manual's form.
    Append {
        /// The `_id` of the bucket.
        id: String,
    },
    /// Appends to the bucket with this id, which exists: if it is full, the miss shows as a duplicate key.
    /// The manual's form.
    Fill {
        /// The `_id` of the bucket.
        id: String,
    },
    /// Opens the bucket with this id. The manual's form.
    Open {
        /// The `_id` of the new bucket.
        id: String,
        /// No bucket of the key may sort after this id: the id of the new bucket, or of the one that was seen
        /// as the newest.
        behind: String,
    },
    /// Opens the bucket with this id without records, so that no other one of the key can be opened while
    /// whole buckets are placed before it. The manual's form.
    Reserve {
        /// The `_id` of the new bucket.
        id: String,
        /// As in [`Open`](Self::Open).
        behind: String,
    },
    /// Inserts a whole bucket before the one that is reserved. The manual's form.
    Place {
        /// The `_id` of the new bucket.
        id: String,
        /// Only the reserved bucket may sort after this id: the id of the new bucket, or of the one before it.
        behind: String,
    },
    /// Stores the first records of a bucket that was opened without records. The manual's form.
    Begin {
        /// The `_id` of the bucket.
        id: String,
        /// The bucket is this writer's own and still reserved.
        reserved: bool,
    },
    /// Ends a reservation, usually another writer's: from then on nothing is placed before the bucket. Stores
    /// no records. The manual's form.
    TakeOver {
        /// The `_id` of the bucket.
        id: String,
    },
    /// Appends to the bucket with this id, or opens it. If the bucket takes no more, the miss shows as a
    /// duplicate key. The other forms.
    Put(Put),
    /// Marks a bucket as one that takes no more; stores no records. If a numbered bucket is gone or already
    /// marked, the server refuses the statement.
    Close {
        /// The `_id` of the bucket.
        id: String,
        /// Its number.
        number: i64,
    },
}

/// A bucket to append to or to open.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Put {
    /// The `_id` of the bucket.
    pub id: String,
    /// The start of its window, or the time of its first record.
    pub start: DateTime,
    /// Its number.
    pub number: i64,
    /// Its index among the buckets of its window, from 0.
    pub part: i64,
    /// The number of records that it takes.
    pub size: u32,
    /// Set if the statement fills the bucket and marks it, or if nothing is added to the bucket later: the number of records
    /// that the bucket holds before it.
    pub fills_from: Option<u32>,
    /// The bucket may not exist yet.
    pub fresh: bool,
    /// It must exist: a miss leaves no trace, so the statement is sent in a command of its own.
    pub lone: bool,
}

impl Put {
    /// An append to the bucket with this id, of which nothing else is known.
    pub(super) fn lone(spec: &BucketSpec, id: &str, size: u32) -> Self {
        Self {
            id: id.to_owned(),
            start: DateTime::MIN,
            number: id::parse_place(spec, id).map_or(0, |place| place.time),
            part: 0,
            size,
            fills_from: None,
            fresh: false,
            lone: true,
        }
    }
}

impl Action {
    /// The `_id` of the bucket.
    ///
    /// ```
    /// # use bucket_core::write::Action;
    /// assert_eq!(Action::Fill { id: "123_1698335223".into() }.id(), "123_1698335223");
    /// ```
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Append { id }
            | Self::Fill { id }
            | Self::Open { id, .. }
            | Self::Reserve { id, .. }
            | Self::Place { id, .. }
            | Self::Begin { id, .. }
            | Self::TakeOver { id }
            | Self::Close { id, .. } => id,
            Self::Put(put) => &put.id,
        }
    }

    /// The name of the index that the statement uses as its hint.
    ///
    /// ```
    /// # use bucket_core::{BucketSpec, write::Action};
    /// fn hint(spec: &BucketSpec, id: String) -> String {
    ///     Action::Fill { id }.index(spec)
    /// }
    /// ```
    #[must_use]
    pub fn index(&self, spec: &BucketSpec) -> String {
        match self {
            Self::Open { .. } | Self::Reserve { .. } | Self::Place { .. } => {
                spec.pages_index_name()
            }
            _ => spec.identity_index_name(),
        }
    }

    /// Whether it opens a bucket that may not exist yet.
    pub(super) fn is_opening(&self) -> bool {
        match self {
            Self::Append { .. }
            | Self::Fill { .. }
            | Self::Begin { .. }
            | Self::TakeOver { .. }
            | Self::Close { .. } => false,
            Self::Open { .. } | Self::Reserve { .. } | Self::Place { .. } => true,
            Self::Put(put) => put.fresh,
        }
    }

    /// Whether its filter matches the buckets that sort after the new one, of which there may be none.
    pub(super) fn opens_last(&self) -> bool {
        matches!(
            self,
            Self::Open { .. } | Self::Reserve { .. } | Self::Place { .. }
        )
    }

    /// Whether it opens the bucket if it does not exist.
    pub(super) fn upserts(&self) -> bool {
        match self {
            Self::Append { .. } | Self::Close { .. } => false,
            Self::Fill { .. }
            | Self::Open { .. }
            | Self::Reserve { .. }
            | Self::Place { .. }
            | Self::Begin { .. }
            | Self::TakeOver { .. } => true,
            Self::Put(put) => !put.lone,
        }
    }

    /// Whether only the number of documents in the reply shows a miss.
    pub(super) fn is_lone(&self) -> bool {
        match self {
            Self::Append { .. } => true,
            Self::Put(put) => put.lone,
            _ => false,
        }
    }

    /// Whether the bucket is known to exist.
    pub(super) fn is_known(&self) -> bool {
        match self {
            Self::Fill { .. } => true,
            Self::Begin { reserved, .. } => !reserved,
            Self::Put(put) => !put.fresh && !put.lone,
            _ => false,
        }
    }
}
