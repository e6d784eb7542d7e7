//! The position of a bucket among those of its key.

use bson::DateTime;

use crate::{codec::leb128::zigzag, model::spec::TimeUnit};

/// The position of a bucket among the buckets of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    /// In units of the id's time.
    pub(crate) time: i64,
    /// 0 for the first bucket of its time.
    pub(crate) sequence: u64,
}

impl Place {
    /// What references say of it.
    pub(crate) fn in_reference(self) -> (u128, u128) {
        (zigzag(self.time.into()), self.sequence.into())
    }

    /// The first possible position.
    pub(crate) const FIRST: Self = Self {
        time: i64::MIN,
        sequence: 0,
    };
    /// The last possible position.
    pub(crate) const LAST: Self = Self {
        time: i64::MAX,
        sequence: u64::MAX,
    };

    /// The position for a record's own time.
    pub(crate) fn at(date: DateTime, unit: TimeUnit) -> Self {
        Self {
            time: date.timestamp_millis().div_euclid(unit.millis()),
            sequence: 0,
        }
    }

    /// The time that it names.
    pub(crate) fn date(self, unit: TimeUnit) -> DateTime {
        DateTime::from_millis(self.time.saturating_mul(unit.millis()))
    }

    /// The position after `last` for a bucket whose first record has the position `self`.
    pub(crate) fn after(self, last: Self) -> Self {
        if self.time > last.time {
            self
        } else {
            Self {
                time: last.time,
                sequence: last.sequence.saturating_add(1),
            }
        }
    }
}
