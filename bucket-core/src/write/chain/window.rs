//! Windows: the buckets of a key and a window, told apart by a sequence without gaps.
//!
//! The first one's id follows from the record alone, so it is tried on trust: the statement appends
//! or opens, and commutes with every other. A further one is opened only by who saw the last one
//! full, under the id behind it: full buckets stay full and ids are unique, so there is one with
//! room at most.

use bson::DateTime;

use super::{Chain, Kind, Known, Step, Tail};
use crate::{id::Place, read::FindPlan, spec::BucketSpec};

impl Chain {
    /// The newest bucket with room of a window that ends where ours does: buckets from before the
    /// window was changed are left as they are.
    pub(super) fn open_in_window(&self) -> FindPlan {
        let Kind::Window { start, end, size } = self.kind else {
            return self.newest_bucket();
        };
        let mut room = Known::room_condition(self.spec, size);
        room.insert(self.spec.names().end, end);
        self.newest_of(start, room)
    }

    pub(super) fn saw_in_window(spec: &BucketSpec, end: DateTime, known: Known) -> Tail {
        if known.end == end && known.has_room(spec) {
            Tail::Open(known)
        } else {
            Tail::Full(known)
        }
    }

    pub(super) fn next_in_window(&self, tail: &Tail, from: usize) -> Option<Step> {
        let Kind::Window { start, size, .. } = self.kind else {
            return None;
        };
        let first = Place::at(start, self.spec.id_unit());
        let place = match tail {
            Tail::Open(known) => return Some(self.put(known, from)),
            Tail::Reserved(_) => return None,
            Tail::Unknown | Tail::NoneOpen => first,
            Tail::Full(last) => first.after(last.place),
        };
        let known = Known::fresh(self.id(place), place, size, start);
        Some(self.put(&known, from))
    }
}
