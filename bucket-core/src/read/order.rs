//! The order in which the records of a key are read, and the position of a record in it.
//!
//! All parts of a position stay the same after a record is stored: the bucket's own position, the
//! record's time, its index in the array. So a position remains a valid bound, whatever buckets
//! fill, close or open in the meantime.

use std::cmp::Ordering;

use crate::{bucket::id::Place, model::form::Order};

/// The position of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    /// The position of its bucket.
    pub(crate) place: Place,
    /// Its time, in milliseconds since 1970; ignored in order of arrival.
    pub(crate) time: i64,
    /// Its index in the array.
    pub(crate) index: u32,
}

impl Position {
    /// The position of a bucket that cannot be read: after all records of its group in this
    /// direction. No record has this position. That also holds in order of arrival, where the time
    /// of a record's position is that of its bucket, and these times are next to a record.
    pub(crate) const fn of_damaged(place: Place, descending: bool) -> Self {
        let (time, index) = if descending {
            (i64::MIN, 0)
        } else {
            (i64::MAX, u32::MAX)
        };
        Self { place, time, index }
    }

    /// The position of a bucket of which only the window can be read: after all records of the window
    /// in this direction. No part of the window has this position.
    pub(crate) const fn of_damaged_without_part(window: Place, descending: bool) -> Self {
        let (sequence, index) = if descending {
            // The damaged first part has index 0.
            (0, 1)
        } else {
            (u64::MAX, u32::MAX)
        };
        let place = Place { sequence, ..window };
        Self {
            index,
            ..Self::of_damaged(place, descending)
        }
    }

    /// In order of arrival, the position of a bucket that cannot be read and comes right after this
    /// record. Later records of the record's bucket are after it, and the record itself is before it.
    /// The time is that of no record.
    pub(crate) const fn of_damaged_after(self) -> Self {
        Self {
            time: i64::MAX,
            ..self
        }
    }

    /// Where this position is in order of arrival, seen from the record of its bucket and index: at
    /// the record, or next to it. The order ignores all other times.
    const fn beside(self) -> Ordering {
        match self.time {
            i64::MIN => Ordering::Less,
            i64::MAX => Ordering::Greater,
            _ => Ordering::Equal,
        }
    }

    /// In order of arrival, whether a record of its bucket is before this position.
    pub(crate) fn has_records_before(self) -> bool {
        self.index > 0 || self.beside().is_gt()
    }
}

impl Order {
    /// Whether the records of two buckets may interleave.
    pub(crate) fn same_group(self, one: Place, other: Place) -> bool {
        match self {
            Self::Arrival | Self::Bucket => one == other,
            Self::Window => one.time == other.time,
        }
    }

    /// The first possible position in the group of this bucket.
    pub(crate) const fn group_start(self, place: Place) -> Place {
        match self {
            Self::Arrival | Self::Bucket => place,
            Self::Window => Place {
                time: place.time,
                sequence: 0,
            },
        }
    }

    /// The position next to this one in this order, with none in between. `None` at the ends of the
    /// range of positions.
    pub(crate) fn neighbour(self, of: &Position, descending: bool) -> Option<Position> {
        let Position { place, time, index } = *of;
        let step = |value: i64| value.checked_add(if descending { -1 } else { 1 });
        let (far, edge) = if descending {
            (i64::MAX, u32::MAX)
        } else {
            (i64::MIN, 0)
        };
        let sequence_edge = if descending { u64::MAX } else { 0 };
        let next_index = if descending {
            index.checked_sub(1)
        } else {
            index.checked_add(1)
        };
        let next_sequence = if descending {
            place.sequence.checked_sub(1)
        } else {
            place.sequence.checked_add(1)
        };
        if let Some(index) = next_index {
            let time = match self {
                // It may say that the position is next to a record.
                Self::Arrival => place.time,
                Self::Bucket | Self::Window => time,
            };
            return Some(Position { place, time, index });
        }
        let at = |place: Place, time: i64| Position {
            place,
            time,
            index: edge,
        };
        let same_place = |sequence: u64| Place { sequence, ..place };
        let next_place = || {
            let by_time = |time: i64| Place {
                time,
                sequence: sequence_edge,
            };
            step(place.time).map(by_time)
        };
        match self {
            Self::Arrival => next_sequence
                .map(same_place)
                .or_else(next_place)
                .map(|place| at(place, place.time)),
            Self::Bucket => step(time).map(|time| at(place, time)).or_else(|| {
                let place = next_sequence.map(same_place).or_else(next_place);
                place.map(|place| at(place, far))
            }),
            Self::Window => next_sequence
                .map(|sequence| at(same_place(sequence), time))
                .or_else(|| step(time).map(|time| at(same_place(sequence_edge), time)))
                .or_else(|| next_place().map(|place| at(place, far))),
        }
    }

    pub(crate) fn compare(self, one: &Position, other: &Position) -> Ordering {
        let by_index = one.index.cmp(&other.index);
        match self {
            Self::Arrival => {
                let by_side = one.beside().cmp(&other.beside());
                one.place.cmp(&other.place).then(by_index).then(by_side)
            }
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
