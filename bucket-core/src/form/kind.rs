//! Which sequence of buckets a record goes into, by the model's form.

use bson::DateTime;

use super::{Form, LatePolicy};
use crate::{error::EncodeError, limits::Limits, spec::BucketSpec};

/// A sequence of buckets that records go into one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// The buckets of a key, in the manual's form.
    Count { size: u32 },
    /// The buckets of a key and a window.
    Window {
        start: DateTime,
        end: DateTime,
        size: u32,
    },
    /// The buckets of a key, in order of time.
    Hybrid {
        size: u32,
        /// In milliseconds.
        max_duration: i64,
        late: LatePolicy,
    },
    /// The buckets that take the late records of a key and a span of time.
    Late {
        start: DateTime,
        size: u32,
        max_duration: i64,
        /// Into buckets that cover them, if those have room.
        merge: bool,
    },
    /// The numbered buckets of a key.
    Numbered { size: u32 },
}

impl Kind {
    /// The chain of a record of this time.
    pub(crate) fn of(
        spec: &BucketSpec,
        limits: Option<Limits>,
        time: DateTime,
    ) -> Result<Self, EncodeError> {
        let form = match limits {
            None => spec.form(),
            Some(limits) => limits.apply(spec.form())?,
        };
        let size = form.size();
        Ok(match form {
            Form::Count { .. } => Self::Count { size },
            Form::Window { window, .. } => {
                let (start, end) = window.span(time);
                Self::Window { start, end, size }
            }
            Form::Hybrid {
                max_duration, late, ..
            } => Self::Hybrid {
                size,
                max_duration,
                late,
            },
            Form::Numbered { .. } => Self::Numbered { size },
        })
    }

    /// The chain of the late records around this time.
    pub(crate) fn late(time: DateTime, size: u32, max_duration: i64, merge: bool) -> Self {
        let length = max_duration.max(1);
        let start = time.timestamp_millis().div_euclid(length);
        let start = DateTime::from_millis(start.saturating_mul(length));
        Self::Late {
            start,
            size,
            max_duration,
            merge,
        }
    }

    /// The largest number of records in one bucket.
    pub(crate) const fn size(self) -> u32 {
        match self {
            Self::Count { size }
            | Self::Window { size, .. }
            | Self::Hybrid { size, .. }
            | Self::Late { size, .. }
            | Self::Numbered { size } => size,
        }
    }

    /// What tells this chain from others of its key.
    pub(crate) fn identity(self) -> Option<[i64; 2]> {
        match self {
            Self::Window { start, end, .. } => {
                Some([start.timestamp_millis(), end.timestamp_millis()])
            }
            // No window ends where it starts.
            Self::Late { start, .. } => Some([start.timestamp_millis(); 2]),
            Self::Count { .. } | Self::Hybrid { .. } | Self::Numbered { .. } => None,
        }
    }

    /// Whether its buckets carry a mark that says that they take no more.
    pub(crate) const fn marks(self) -> bool {
        matches!(self, Self::Hybrid { .. } | Self::Numbered { .. })
    }

    /// Whether the records are taken in order of time instead of arrival.
    pub(crate) const fn sorts(self) -> bool {
        matches!(self, Self::Hybrid { .. } | Self::Late { .. })
    }

    /// Whether a bucket that begins at `start` takes a record of this time.
    pub(crate) fn covers(self, start: DateTime, time: DateTime) -> bool {
        match self {
            Self::Hybrid { max_duration, .. } | Self::Late { max_duration, .. } => {
                let (start, time) = (start.timestamp_millis(), time.timestamp_millis());
                start <= time && time.saturating_sub(start) < max_duration
            }
            Self::Count { .. } | Self::Window { .. } | Self::Numbered { .. } => true,
        }
    }
}
