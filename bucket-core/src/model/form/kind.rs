//! The sequence of buckets that takes a record, by the model's form.

use bson::DateTime;

use super::{Form, LatePolicy, OwnField};
use crate::{
    error::EncodeError,
    model::{limits::Limits, spec::BucketSpec},
};

/// A sequence of buckets that fill one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Count(Pages),
    Window(InWindow),
    Hybrid(InTime),
    Late(Late),
    Numbered(Numbered),
}

/// The buckets of a key, in the manual's form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Pages {
    pub(crate) size: u32,
}

/// The buckets of a key and a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct InWindow {
    pub(crate) start: DateTime,
    pub(crate) end: DateTime,
    pub(crate) size: u32,
    /// Whether a bucket takes no more records than those that it was opened with.
    pub(crate) parts: bool,
}

/// The buckets of a key, in order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct InTime {
    pub(crate) size: u32,
    /// In milliseconds.
    pub(crate) max_duration: i64,
    policy: LatePolicy,
}

/// The buckets that take the late records of a key and a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Late {
    pub(crate) start: DateTime,
    pub(crate) size: u32,
    pub(crate) max_duration: i64,
    /// Whether records may go into buckets that cover their time, if those have room.
    pub(crate) merge: bool,
}

/// The numbered buckets of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Numbered {
    pub(crate) size: u32,
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
            Form::Count { .. } => Self::Count(Pages { size }),
            Form::Window { window, parts, .. } => {
                let (start, end) = window.span(time);
                Self::Window(InWindow {
                    start,
                    end,
                    size,
                    parts,
                })
            }
            Form::Hybrid {
                max_duration, late, ..
            } => Self::Hybrid(InTime {
                size,
                max_duration,
                policy: late,
            }),
            Form::Numbered { .. } => Self::Numbered(Numbered { size }),
        })
    }

    /// The largest number of records in one bucket.
    pub(crate) const fn size(self) -> u32 {
        match self {
            Self::Count(Pages { size })
            | Self::Window(InWindow { size, .. })
            | Self::Hybrid(InTime { size, .. })
            | Self::Late(Late { size, .. })
            | Self::Numbered(Numbered { size }) => size,
        }
    }

    /// What distinguishes this chain from others of its key; `None` if a key has one chain.
    pub(crate) fn identity(self) -> Option<[i64; 2]> {
        match self {
            Self::Window(InWindow { start, end, .. }) => {
                Some([start.timestamp_millis(), end.timestamp_millis()])
            }
            // No window ends where it starts.
            Self::Late(Late { start, .. }) => Some([start.timestamp_millis(); 2]),
            Self::Count(_) | Self::Hybrid(_) | Self::Numbered(_) => None,
        }
    }

    /// The window of the chain, if it has one.
    pub(crate) const fn window(self) -> Option<InWindow> {
        match self {
            Self::Window(window) => Some(window),
            _ => None,
        }
    }

    /// The fields that distinguish its buckets with room from all others, besides the key and the
    /// id.
    pub(crate) const fn told_apart_by(self) -> &'static [OwnField] {
        match self {
            Self::Count(_) => &[],
            Self::Window(_) => &[OwnField::Start, OwnField::End, OwnField::Part],
            Self::Hybrid(_) => &[OwnField::Start, OwnField::Closed],
            Self::Late(_) => &[OwnField::Start],
            Self::Numbered(_) => &[OwnField::Number, OwnField::Size, OwnField::Full],
        }
    }

    /// The field by which the statement that fills a bucket marks it as full.
    pub(crate) const fn mark(self) -> Option<OwnField> {
        match self {
            Self::Hybrid(_) => Some(OwnField::Closed),
            Self::Numbered(_) => Some(OwnField::Full),
            Self::Count(_) | Self::Window(_) | Self::Late(_) => None,
        }
    }

    /// Whether its buckets carry such a mark.
    pub(crate) const fn marks(self) -> bool {
        self.mark().is_some()
    }

    /// Whether records are taken in order of time instead of order of arrival.
    pub(crate) const fn sorts(self) -> bool {
        matches!(self, Self::Hybrid(_) | Self::Late(_))
    }

    /// Whether a bucket that starts at `start` takes a record with this time.
    pub(crate) fn covers(self, start: DateTime, time: DateTime) -> bool {
        match self {
            Self::Hybrid(InTime { max_duration, .. }) | Self::Late(Late { max_duration, .. }) => {
                let (start, time) = (start.timestamp_millis(), time.timestamp_millis());
                start <= time && time.saturating_sub(start) < max_duration
            }
            Self::Count(_) | Self::Window(_) | Self::Numbered(_) => true,
        }
    }

    /// Whether buckets are found by the time of the next record, one at a time.
    pub(crate) const fn is_late(self) -> bool {
        matches!(self, Self::Late(_))
    }

    /// Whether a bucket that is sealed has no room, or a mark that says so.
    pub(crate) const fn closes_in_order(self) -> bool {
        !matches!(self, Self::Window(_) | Self::Late(_))
    }

    /// Whether records only go into buckets for late records.
    pub(crate) const fn is_set_aside(self) -> bool {
        matches!(self, Self::Late(Late { merge: false, .. }))
    }

    /// The chain of records in order of time, if this is one. Late records must be taken out of it.
    pub(crate) const fn in_time(self) -> Option<InTime> {
        match self {
            Self::Hybrid(in_time) => Some(in_time),
            _ => None,
        }
    }

    /// Whether the chain may skip a bucket that the server does not let grow. In the manual's form,
    /// that bucket holds the key's only place in the index on open buckets.
    pub(crate) const fn passes_by(self) -> bool {
        !matches!(self, Self::Count(_))
    }

    /// Whether the next bucket is only right if the full one before it exists.
    pub(crate) const fn builds_on_full(self) -> bool {
        matches!(self, Self::Numbered(_) | Self::Window(_))
    }

    /// Whether a bucket takes no more records than those that it was opened with.
    pub(crate) const fn in_parts(self) -> bool {
        matches!(self, Self::Window(InWindow { parts: true, .. }))
    }

    /// Whether each bucket stores the number of records that it takes.
    pub(crate) const fn carries_size(self) -> bool {
        matches!(self, Self::Numbered(_))
    }
}

impl InTime {
    /// Whether late records are refused.
    pub(crate) fn refuses_late(self) -> bool {
        self.policy == LatePolicy::Reject
    }

    /// The chain for late records around this time.
    pub(crate) fn late(self, time: DateTime) -> Kind {
        let length = self.max_duration.max(1);
        let start = time.timestamp_millis().div_euclid(length);
        Kind::Late(Late {
            start: DateTime::from_millis(start.saturating_mul(length)),
            size: self.size,
            max_duration: self.max_duration,
            merge: self.policy == LatePolicy::Merge,
        })
    }
}
