//! The order in which the records of a key are read, and the place of a record in it.
//!
//! Everything that a place is made of stays as it is once a record is stored: the bucket's own
//! place, the record's time, its index in the array. So a place found once is a bound for ever,
//! whatever fills, closes or is opened meanwhile.

use std::cmp::Ordering;

use crate::{form::Form, id::Place, spec::BucketSpec};

/// How the records of a key follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// As they arrived: bucket by bucket, and inside a bucket as they stand in the array.
    Arrival,
    /// Bucket by bucket, and inside a bucket by time.
    Bucket,
    /// Window by window, and inside a window by time, whichever of its buckets they are in.
    Window,
}

/// Where a record stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    /// The place of its bucket.
    pub(crate) place: Place,
    /// Its time, in milliseconds since 1970; of no account in the order of arrival.
    pub(crate) time: i64,
    /// Its index in the array.
    pub(crate) index: u32,
}

impl Order {
    pub(crate) const fn of(spec: &BucketSpec) -> Self {
        match spec.form() {
            Form::Count { .. } | Form::Numbered { .. } => Self::Arrival,
            Form::Hybrid { .. } => Self::Bucket,
            Form::Window { .. } => Self::Window,
        }
    }

    /// Whether the records of two buckets lie among each other.
    pub(crate) fn same_group(self, one: Place, other: Place) -> bool {
        match self {
            Self::Arrival | Self::Bucket => one == other,
            Self::Window => one.time == other.time,
        }
    }

    /// The first place that the group of this one can have.
    pub(crate) const fn group_start(self, place: Place) -> Place {
        match self {
            Self::Arrival | Self::Bucket => place,
            Self::Window => Place {
                time: place.time,
                sequence: 0,
            },
        }
    }

    pub(crate) fn compare(self, one: &Position, other: &Position) -> Ordering {
        let by_index = one.index.cmp(&other.index);
        match self {
            Self::Arrival => one.place.cmp(&other.place).then(by_index),
            Self::Bucket => {
                let by_time = one.time.cmp(&other.time);
                one.place.cmp(&other.place).then(by_time).then(by_index)
            }
            Self::Window => {
                let by_window = one.place.time.cmp(&other.place.time);
                let by_time = one.time.cmp(&other.time);
                let by_part = one.place.sequence.cmp(&other.place.sequence);
                by_window.then(by_time).then(by_part).then(by_index)
            }
        }
    }
}
