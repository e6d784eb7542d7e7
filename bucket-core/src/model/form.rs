//! Forms: what closes a bucket and opens the next one.
//!
//! Whoever needs to know something of a form asks it here, so that nothing else goes by which form it is:
//!
//! | question | file |
//! | --- | --- |
//! | which fields its buckets have, and which of them says that one takes no more | `own_field` |
//! | what a bucket says of the times of its records, and how records follow each other | `span_and_order` |
//! | which indexes it rests on, and what its buckets are ordered by | `indexes` |
//! | what it is with other limits for a key | `limited` |
//! | which sequence of buckets a record goes into | `kind` |

mod indexes;
mod kind;
mod limited;
mod own_field;
mod span_and_order;

pub(crate) use self::{
    indexes::OrderedBy,
    kind::{InTime, InWindow, Kind, Late, Numbered, Pages},
    own_field::OwnField,
    span_and_order::{Order, Span},
};
use crate::time::window::Window;

/// How records are grouped into buckets.
///
/// ```
/// use bucket_core::{Form, Window};
///
/// let form = Form::Window { window: Window::hours(1), capacity: Some(60) };
/// assert_eq!(form.capacity(), Some(60));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// By number of records alone: the manual's form.
    Count {
        /// The largest number of records in one bucket, at least 1.
        capacity: u32,
    },
    /// By time: a bucket for each key and window, and further ones of the same window where one is
    /// full.
    Window {
        /// The span of time that a bucket covers.
        window: Window,
        /// The largest number of records in one bucket; none for no limit but that of bytes.
        capacity: Option<u32>,
    },
    /// By number and by time, whichever comes first: a bucket begins with its first record.
    Hybrid {
        /// The largest number of records in one bucket, at least 1.
        capacity: u32,
        /// The span of time that a bucket covers from its first record on, in milliseconds.
        max_duration: i64,
        /// What becomes of a record that is older than the open bucket.
        late: LatePolicy,
    },
    /// By number of records, with a bucket number that rises by one.
    Numbered {
        /// The largest number of records in one bucket, at least 1.
        capacity: u32,
    },
}

/// What becomes of a record that is older than the open bucket of its key.
///
/// ```
/// assert_ne!(bucket_core::LatePolicy::Merge, bucket_core::LatePolicy::Side);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LatePolicy {
    /// It goes into the bucket that covers its time if that has room, else into a side bucket.
    Merge,
    /// It goes into a side bucket: late records of one key and one span of time share it, and it
    /// is marked as late.
    Side,
    /// It is refused with a typed error; nothing is stored.
    Reject,
}

/// Windows without a capacity hold at most this many records in one bucket, whatever their size.
pub const MAX_COUNT: u32 = 100_000;

impl Form {
    /// The largest number of records in one bucket, where the model gives one.
    ///
    /// ```
    /// assert_eq!(bucket_core::Form::Count { capacity: 10 }.capacity(), Some(10));
    /// ```
    #[must_use]
    pub const fn capacity(self) -> Option<u32> {
        match self {
            Self::Count { capacity }
            | Self::Hybrid { capacity, .. }
            | Self::Numbered { capacity } => Some(capacity),
            Self::Window { capacity, .. } => capacity,
        }
    }

    /// What it is called, in tokens: never to be changed.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Count { .. } => "count",
            Self::Window { .. } => "window",
            Self::Hybrid { .. } => "hybrid",
            Self::Numbered { .. } => "numbered",
        }
    }

    /// The largest number of records in one bucket, given by the model or not.
    pub(crate) const fn size(self) -> u32 {
        match self.capacity() {
            Some(capacity) => capacity,
            None => MAX_COUNT,
        }
    }
}
