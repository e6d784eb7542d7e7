//! An event of a record.

use std::fmt;

use bson::{Bson, DateTime};

use super::{position::Position, token::WatchToken};
use crate::{
    bucket::{id::BucketId, record::Record},
    read::InBucket,
    time::range::TimeRange,
};

/// A change of a stored record or of a bucket, as [`watch`](https://docs.rs/bucket-mongo) reports it.
///
/// ```
/// use bucket_core::{Record, RecordChange, WatchEvent};
///
/// fn print<T: Record + std::fmt::Debug>(event: &WatchEvent<T>) {
///     match &event.change {
///         RecordChange::Stored { record, .. } => println!("new: {record:?}"),
///         RecordChange::Updated { record, .. } => println!("corrected: {record:?}"),
///         RecordChange::Removed { time, .. } => println!("removed: the one of {time}"),
///         _ => println!("read bucket {} again", event.bucket),
///     }
/// }
/// ```
#[non_exhaustive]
pub struct WatchEvent<T: Record> {
    /// What changed.
    pub change: RecordChange<T>,
    /// The bucket.
    pub bucket: BucketId<T>,
    /// When the change was made, by the clock of the server: to the millisecond from MongoDB 6.0, to the second
    /// before that. The time of the call for records that were stored before it.
    pub at: DateTime,
    pub(super) position: Option<Position>,
}

/// What changed; see [`WatchEvent`].
///
/// ```
/// use bucket_core::{Record, RecordChange};
///
/// fn stored<T: Record>(change: RecordChange<T>) -> Option<T> {
///     match change {
///         RecordChange::Stored { record, .. } => Some(record),
///         _ => None,
///     }
/// }
/// ```
#[non_exhaustive]
pub enum RecordChange<T: Record> {
    /// A record was stored.
    #[non_exhaustive]
    Stored {
        /// The record.
        record: T,
        /// Its place in the array of its bucket, which it keeps.
        index: u32,
    },
    /// A record was edited.
    #[non_exhaustive]
    Updated {
        /// The record after the edit.
        record: T,
        /// The record before the edit, if the watch [asks for it](https://docs.rs/bucket-mongo) and the server still
        /// remembers it.
        before: Option<T>,
        /// Its place in the array of its bucket.
        index: u32,
    },
    /// A record was removed from its bucket.
    #[non_exhaustive]
    Removed {
        /// Its key.
        key: T::Key,
        /// Its time.
        time: DateTime,
        /// Its id, in models with record ids (`#[bucket(unique)]`), as it is stored. `None` if the record went
        /// to another bucket of its key, or if its removal forgot the id.
        id: Option<Bson>,
        /// The record before its removal; `None` under the same conditions as that of an edit.
        before: Option<T>,
        /// Its place in the array of its bucket.
        index: u32,
    },
    /// A whole bucket was removed with all its records: by retention, by `delete_key`, or by another tool.
    ///
    /// The server reports all of these alike: its retention deletes a document as any client does, and the event has
    /// only the id of it. [`expired`](RecordChange::BucketRemoved::expired) says whether it can have been retention.
    #[non_exhaustive]
    BucketRemoved {
        /// Its key. The server reports only the id: in models with object ids the key is missing unless a recent
        /// event had it.
        key: Option<T::Key>,
        /// A span of time that has all of its records: the window, or the times from the first record to the last one.
        /// Other buckets may have records of that span too. A side that is not known is open.
        ///
        /// It is known if the watch [asks](https://docs.rs/bucket-mongo) for what was before, under the same conditions
        /// as `records`. Without that, what recent events of the bucket had of its start and end, in windows and hybrid
        /// buckets; the start of a window is in its typed id. `None` if nothing is known of it, or no record was left.
        span: Option<TimeRange>,
        /// Whether the records had passed the `expire_after` of the model by then, so that reads did not show them any
        /// more. With `Some(false)` it was not retention, but `delete_key` or another tool; so in models without
        /// a limit. With `Some(true)` it can have been any of them. `None` if the age of the bucket is not known: neither
        /// the watch asks for what was before, nor had a recent event of the bucket its end or its `expire_from`.
        expired: Option<bool>,
        /// How many records it had; `None` under the same conditions as a record before an edit.
        records: Option<u32>,
    },
    /// A bucket was changed, and the event does not say which of its records: read them again. Another tool wrote
    /// to it; or the event is older than what the server remembers of the bucket, and the bucket is needed to read
    /// it.
    #[non_exhaustive]
    Rewritten {
        /// Its key, unless only the bucket had it and is gone.
        key: Option<T::Key>,
    },
}

impl<T: Record> WatchEvent<T> {
    #[doc(hidden)]
    /// A record that was stored before the watch; `at` is the time of the call.
    #[must_use]
    pub fn of_stored(stored: InBucket<T>, at: DateTime) -> Self {
        let InBucket {
            bucket,
            index,
            record,
        } = stored;
        Self {
            change: RecordChange::Stored { record, index },
            bucket,
            at,
            position: None,
        }
    }

    /// The place after this event: a watch `after` it goes on with the next event, which may be of the same
    /// bucket. `None` for records that were stored before the call: nothing can go on between them.
    ///
    /// ```
    /// # use bucket_core::{Record, WatchEvent};
    /// fn checkpoint<T: Record>(event: &WatchEvent<T>) -> Option<String> {
    ///     event.token().map(|token| token.to_string())
    /// }
    /// ```
    #[must_use]
    pub fn token(&self) -> Option<WatchToken> {
        self.position.as_ref().map(Position::token)
    }
}

impl<T: Record> RecordChange<T> {
    /// The key, if it is known.
    ///
    /// ```
    /// # use bucket_core::{Record, RecordChange};
    /// fn is_of<T: Record>(change: &RecordChange<T>, key: &T::Key) -> bool {
    ///     change.key().as_ref() == Some(key)
    /// }
    /// ```
    #[must_use]
    pub fn key(&self) -> Option<T::Key> {
        match self {
            Self::Stored { record, .. } | Self::Updated { record, .. } => Some(record.key()),
            Self::Removed { key, .. } => Some(key.clone()),
            Self::BucketRemoved { key, .. } | Self::Rewritten { key } => key.clone(),
        }
    }
}

impl<T: Record + fmt::Debug> fmt::Debug for WatchEvent<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchEvent")
            .field("change", &self.change)
            .field("bucket", &self.bucket)
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

impl<T: Record + fmt::Debug> fmt::Debug for RecordChange<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stored { record, index } => f
                .debug_struct("Stored")
                .field("record", record)
                .field("index", index)
                .finish(),
            Self::Updated {
                record,
                before,
                index,
            } => f
                .debug_struct("Updated")
                .field("record", record)
                .field("before", before)
                .field("index", index)
                .finish(),
            Self::Removed {
                key,
                time,
                id,
                before,
                index,
            } => f
                .debug_struct("Removed")
                .field("key", key)
                .field("time", time)
                .field("id", id)
                .field("before", before)
                .field("index", index)
                .finish(),
            Self::BucketRemoved {
                key,
                span,
                expired,
                records,
            } => f
                .debug_struct("BucketRemoved")
                .field("key", key)
                .field("span", span)
                .field("expired", expired)
                .field("records", records)
                .finish(),
            Self::Rewritten { key } => f.debug_struct("Rewritten").field("key", key).finish(),
        }
    }
}

impl<T: Record + Clone> Clone for WatchEvent<T> {
    fn clone(&self) -> Self {
        Self {
            change: self.change.clone(),
            bucket: self.bucket.clone(),
            at: self.at,
            position: self.position.clone(),
        }
    }
}

impl<T: Record + Clone> Clone for RecordChange<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Stored { record, index } => Self::Stored {
                record: record.clone(),
                index: *index,
            },
            Self::Updated {
                record,
                before,
                index,
            } => Self::Updated {
                record: record.clone(),
                before: before.clone(),
                index: *index,
            },
            Self::Removed {
                key,
                time,
                id,
                before,
                index,
            } => Self::Removed {
                key: key.clone(),
                time: *time,
                id: id.clone(),
                before: before.clone(),
                index: *index,
            },
            Self::BucketRemoved {
                key,
                span,
                expired,
                records,
            } => Self::BucketRemoved {
                key: key.clone(),
                span: *span,
                expired: *expired,
                records: *records,
            },
            Self::Rewritten { key } => Self::Rewritten { key: key.clone() },
        }
    }
}
