//! Where the records of merged buckets are: a merged bucket is at the place of the first bucket that it was made of.

use bson::DateTime;

use crate::{bucket::id::Place, model::spec::BucketSpec, time::window::Window};

/// Which buckets may be merged, at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Merging {
    /// Buckets are merged with those that start in the same of these.
    slot: Window,
    /// Buckets that end later are not merged yet.
    until: DateTime,
    /// The unit of places, in milliseconds.
    unit: i64,
}

impl Merging {
    /// `None` if the model merges no buckets.
    pub(super) fn of(spec: &BucketSpec, now: DateTime) -> Option<Self> {
        Some(Self {
            slot: spec.merged_within()?,
            until: spec.merged_until(now)?,
            unit: spec.id_unit().millis(),
        })
    }

    /// How long buckets may be with records from this time on, in milliseconds, if those that are not merged are at most this
    /// long.
    pub(super) fn longest(self, own: i64, from: Option<DateTime>) -> i64 {
        let earliest = from.map(|from| from.timestamp_millis().saturating_sub(own));
        if earliest.is_some_and(|earliest| earliest >= self.until.timestamp_millis()) {
            return own;
        }
        // The last bucket of a slot may reach beyond it.
        own.saturating_add(self.slot.longest_millis())
    }

    /// The first and the last place where buckets may be that share a merged one with the bucket at this place; `None` if
    /// it is not merged yet.
    pub(super) fn slot(self, place: Place) -> Option<(Place, Place)> {
        let start = DateTime::from_millis(place.time.saturating_mul(self.unit));
        if start >= self.until {
            return None;
        }
        let (first, behind) = self.slot.span(start);
        let last = behind
            .timestamp_millis()
            .saturating_sub(1)
            .div_euclid(self.unit);
        let first = Place {
            time: first.timestamp_millis().div_euclid(self.unit),
            sequence: 0,
        };
        let last = Place {
            time: last,
            sequence: u64::MAX,
        };
        Some((first, last))
    }

    /// The last time of a place whose records may be in buckets at this place or before it, in units of places.
    pub(super) fn last_until(self, place: Place) -> i64 {
        let until = self.until.timestamp_millis().div_euclid(self.unit);
        self.slot(place)
            .map_or(place.time, |(_, last)| last.time.min(until).max(place.time))
    }
}
