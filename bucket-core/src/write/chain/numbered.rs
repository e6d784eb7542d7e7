//! Numbered buckets of a key: number `n + 1` is opened only by who saw number `n` full, under an id
//! that follows from the number. Full buckets stay full and ids are unique, so numbers have no gaps
//! and no repeats.
//!
//! What was seen must stay: by a read of what a majority has, by an acknowledged write, or by a statement
//! before it in the same command, which fails with it.

use super::{Chain, Kind, Known, Step, Tail};
use crate::id::Place;

impl Chain {
    pub(super) fn next_number(&self, tail: &Tail, from: usize) -> Option<Step> {
        let Kind::Numbered { size } = self.kind else {
            return None;
        };
        let number = match tail {
            Tail::Unknown | Tail::Reserved(_) => return None,
            Tail::Open(known) if known.has_room(self.spec) => return Some(self.put(known, from)),
            // Another tool left it without its mark.
            Tail::Open(known) => return Some(Self::close(known)),
            Tail::NoneOpen => 1,
            Tail::Full(last) => last.place.time.saturating_add(1),
        };
        let place = Place {
            time: number,
            sequence: 0,
        };
        let known = Known::fresh(self.id(place), place, size, self.time_at(from));
        Some(self.put(&known, from))
    }
}
