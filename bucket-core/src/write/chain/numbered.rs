//! Numbered buckets of a key: only a writer that saw number `n` full opens number `n + 1`, under an id that
//! follows from the number. Full buckets stay full and ids are unique, so numbers have no gaps and no
//! repeats.
//!
//! What was seen must be permanent: from a read of what a majority has, from an acknowledged write, or from
//! an earlier statement of the same command, which fails with it.

use super::{Chain, Known, Step, Tail, rules::Rules};
use crate::{
    bucket::id::Place,
    error::DamagedBucket,
    model::form::Numbered,
    read::{self, FindPlan},
};

impl Rules for Numbered {
    fn newest_bucket(&self, chain: &Chain) -> FindPlan {
        read::newest(chain.spec, &chain.key).of_majority()
    }

    fn next_place(&self, chain: &Chain) -> Option<Place> {
        let number = match &chain.tail {
            Tail::Open(known) => known.place.time,
            tail => number_after(tail)?,
        };
        Some(place_of(number))
    }

    fn saw(&self, _: &Chain, known: Known) -> Result<Tail, DamagedBucket> {
        Ok(known.by_mark())
    }

    fn next(&self, chain: &Chain, tail: &Tail, from: usize) -> Option<Step> {
        if let Tail::Open(known) = tail {
            return Some(if known.has_room(chain.spec) {
                chain.put(known, from)
            } else {
                // Another tool did not set its mark.
                Chain::close(known)
            });
        }
        let place = place_of(number_after(tail)?);
        let known = Known::fresh(chain.id(place), place, self.size, chain.time_at(from));
        Some(chain.put(&known, from))
    }
}

/// The number of the bucket that is opened after this tail.
fn number_after(tail: &Tail) -> Option<i64> {
    match tail {
        Tail::Unknown | Tail::Open(_) | Tail::Reserved(_) => None,
        Tail::NoneOpen => Some(1),
        Tail::Full(last) => Some(last.place.time.saturating_add(1)),
    }
}

fn place_of(number: i64) -> Place {
    Place {
        time: number,
        sequence: 0,
    }
}
