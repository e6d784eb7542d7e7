//! Forms: what closes a bucket and opens the next one.
//!
//! All decisions that depend on the form are here, so that no other code needs to match on it:
//!
//! | question | file |
//! | --- | --- |
//! | which fields its buckets have, and which of them marks a full bucket | `own_field` |
//! | what a bucket reveals about the times of its records, and the order of records | `span_and_order` |
//! | which indexes it needs, and what orders its buckets | `indexes` |
//! | the form with other limits for one key | `limited` |
//! | which sequence of buckets takes a record | `kind` |
//! | whether a stored bucket takes more records | `room` |
//! | what a description of a collection says of it | `described` |

mod described;
mod indexes;
mod kind;
mod limited;
mod own_field;
mod room;
mod span_and_order;

pub(crate) use self::{
    indexes::{OrderedBy, SPAN_INDEX},
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
/// let form = Form::Window { window: Window::hours(1), capacity: Some(60), parts: false };
/// assert_eq!(form.capacity(), Some(60));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// By number of records only: the manual's form.
    Count {
        /// The largest number of records in one bucket, at least 1.
        capacity: u32,
    },
    /// By time: one bucket for each key and window, and further ones for the same window when one
    /// is full.
    Window {
        /// The span of time that a bucket covers.
        window: Window,
        /// The largest number of records in one bucket; `None` if only bytes limit it.
        capacity: Option<u32>,
        /// Each statement inserts a bucket of its own, however much room the last one has: what a call brings for a key and
        /// a window is written once and never grows.
        parts: bool,
    },
    /// By number and by time, whichever comes first. A bucket starts with its first record.
    Hybrid {
        /// The largest number of records in one bucket, at least 1.
        capacity: u32,
        /// The span of time that a bucket covers from its first record, in milliseconds.
        max_duration: i64,
        /// How a record that is older than the open bucket is handled.
        late: LatePolicy,
    },
    /// By number of records, with a bucket number that rises by one.
    Numbered {
        /// The largest number of records in one bucket, at least 1.
        capacity: u32,
    },
}

/// How a record that is older than the open bucket of its key is handled.
///
/// ```
/// assert_ne!(bucket_core::LatePolicy::Merge, bucket_core::LatePolicy::Side);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LatePolicy {
    /// It goes into the bucket that covers its time if that one has room, else into a side bucket.
    Merge,
    /// It goes into a side bucket, which is marked as late. Late records of one key and one span of
    /// time share it.
    Side,
    /// The library refuses it with a typed error and stores nothing.
    Reject,
}

/// Windows without a capacity hold at most this many records in one bucket, whatever their size.
pub const MAX_COUNT: u32 = 100_000;

impl Form {
    /// The largest number of records in one bucket, if the model sets one.
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

    /// Whether a bucket takes no more records than those that it was opened with.
    pub(crate) const fn in_parts(self) -> bool {
        matches!(self, Self::Window { parts: true, .. })
    }

    /// Whether several buckets of a key can become one: each has its own span of time, and its id names a time.
    pub(crate) const fn may_merge(self) -> bool {
        matches!(self, Self::Window { .. } | Self::Hybrid { .. })
    }

    /// Its name in tokens. It must never change.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Count { .. } => "count",
            Self::Window { .. } => "window",
            Self::Hybrid { .. } => "hybrid",
            Self::Numbered { .. } => "numbered",
        }
    }

    /// The largest number of records in one bucket, from the model or by default.
    pub(crate) const fn size(self) -> u32 {
        match self.capacity() {
            Some(capacity) => capacity,
            None => MAX_COUNT,
        }
    }
}
