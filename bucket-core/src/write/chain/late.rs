//! Late records of a key: into a bucket that covers them, or into side buckets.
//!
//! A side bucket covers a span of the longest duration, aligned to 1970, so that late records of
//! one time share it however they arrive. Its id is told apart from others of its time by a
//! sequence without gaps, as in a window.

use bson::{DateTime, doc};

use super::{Chain, Kind, Known, Step, Tail, behind};
use crate::{id::Place, read, read::FindPlan};

impl Chain {
    /// The newest bucket with room that covers the first record.
    pub(super) fn open_for_late(&self) -> FindPlan {
        let Kind::Late {
            start,
            size,
            max_duration,
            merge,
        } = self.kind
        else {
            return self.newest_bucket();
        };
        let names = self.spec.names();
        let unit = self.spec.id_unit();
        let mut room = Known::room_condition(self.spec, size);
        room.insert(names.closed, true);
        let time = self.time_at(0);
        let (earliest, latest) = if merge {
            let earliest = time.timestamp_millis().saturating_sub(max_duration - 1);
            room.insert(
                names.start,
                doc! { "$gte": DateTime::from_millis(earliest), "$lte": time },
            );
            (DateTime::from_millis(earliest), time)
        } else {
            room.insert(names.start, start);
            room.insert(names.late, true);
            (start, start)
        };
        let first = self.id(Place::at(earliest, unit));
        let last = behind(&self.id(Place::at(latest, unit)));
        read::newest_between(self.spec, &self.key, (&first, &last), &room)
    }

    pub(super) fn saw_for_late(&self, known: Known) -> Tail {
        let covers = self.kind.covers(known.start, self.time_at(0));
        if covers && known.marked && known.has_room(self.spec) {
            Tail::Open(known)
        } else {
            Tail::Full(known)
        }
    }

    /// Whether the bucket that took the last records takes the next one too.
    pub(super) fn goes_on_late(&self) -> bool {
        matches!(&self.tail, Tail::Open(known) if self.kind.covers(known.start, self.time_at(0)))
    }

    pub(super) fn next_for_late(&self, tail: &Tail, from: usize) -> Option<Step> {
        let Kind::Late { start, size, .. } = self.kind else {
            return None;
        };
        let first = Place::at(start, self.spec.id_unit());
        let place = match tail {
            Tail::Open(known) if self.kind.covers(known.start, self.time_at(from)) => {
                return Some(self.put(known, from));
            }
            // The next record needs another bucket, which is to be looked for.
            Tail::Unknown | Tail::Open(_) | Tail::Reserved(_) => return None,
            Tail::NoneOpen => first,
            Tail::Full(last) => first.after(last.place),
        };
        let known = Known::fresh(self.id(place), place, size, start);
        Some(self.put(&known, from))
    }
}
