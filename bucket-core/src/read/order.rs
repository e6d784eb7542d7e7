//! The order in which the records of a key are read, and the place of a record in it.
//!
//! Everything that a place is made of stays as it is once a record is stored: the bucket's own
//! place, the record's time, its index in the array. So a place found once is a bound for ever,
//! whatever fills, closes or is opened meanwhile.

use std::cmp::Ordering;

use crate::{bucket::id::Place, model::form::Order};

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

impl Position {
    /// The place of a bucket that cannot be read: after all records of its group in this direction. No
    /// record has it, not even in the order of arrival: there its time is that of its bucket.
    pub(crate) const fn of_damaged(place: Place, descending: bool) -> Self {
        let (time, index) = if descending {
            (i64::MIN, 0)
        } else {
            (i64::MAX, u32::MAX)
        };
        Self { place, time, index }
    }
}

impl Order {
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

    /// The neighbour of a place in this order: nothing lies between the two. `None` at the ends of
    /// what a place can be.
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
            return Some(Position { index, ..*of });
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
            // Of no account is the time in this one.
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
