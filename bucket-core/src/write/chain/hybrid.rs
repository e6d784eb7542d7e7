//! Buckets that begin with their first record and are closed by number or by time.
//!
//! What closes a bucket is the time of a record, never the clock: a record that lies behind the
//! span of the open bucket marks it as closed and opens the next one. The unique index on buckets
//! that are not closed makes the first a condition of the second.

use bson::DateTime;

use super::{Chain, Kind, Known, Step, Tail};
use crate::{id::Place, write::batch::Slot};

impl Chain {
    pub(super) fn next_in_time(&self, tail: &Tail, from: usize) -> Option<Step> {
        let Kind::Hybrid { size, .. } = self.kind else {
            return None;
        };
        let time = self.time_at(from);
        let own = Place::at(time, self.spec.id_unit());
        let place = match tail {
            Tail::Unknown | Tail::Reserved(_) => return None,
            Tail::Open(known) if !known.has_room(self.spec) => return Some(Self::close(known)),
            Tail::Open(known) if self.kind.covers(known.start, time) => {
                return Some(self.put(known, from));
            }
            Tail::Open(known) if time < known.start => return None,
            Tail::Open(known) => return Some(Self::close(known)),
            Tail::NoneOpen => own,
            Tail::Full(last) if time < last.start => return None,
            Tail::Full(last) => own.after(last.place),
        };
        let known = Known::fresh(self.id(place), place, size, time);
        Some(self.put(&known, from))
    }

    /// Where the newest bucket begins, if that is known.
    pub(in crate::write) fn newest_start(&self) -> Option<DateTime> {
        match &self.tail {
            Tail::Open(known) | Tail::Full(known) if self.guess.is_none() => Some(known.start),
            _ => None,
        }
    }

    /// Takes out the records that are older than the newest bucket.
    pub(in crate::write) fn take_late(&mut self) -> Vec<Slot> {
        let Some(start) = self.newest_start() else {
            return Vec::new();
        };
        // The records are sorted: the late ones come first.
        let late = self.pending.partition_point(|slot| slot.time < start);
        self.pending.drain(..late).collect()
    }
}
