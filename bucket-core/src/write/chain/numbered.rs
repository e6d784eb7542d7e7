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

    fn saw(&self, _: &Chain, known: Known) -> Result<Tail, DamagedBucket> {
        Ok(known.by_mark())
    }

    fn next(&self, chain: &Chain, tail: &Tail, from: usize) -> Option<Step> {
        let number = match tail {
            Tail::Unknown | Tail::Reserved(_) => return None,
            Tail::Open(known) if known.has_room(chain.spec) => return Some(chain.put(known, from)),
            // Another tool did not set its mark.
            Tail::Open(known) => return Some(Chain::close(known)),
            Tail::NoneOpen => 1,
            Tail::Full(last) => last.place.time.saturating_add(1),
        };
        let place = Place {
            time: number,
            sequence: 0,
        };
        let known = Known::fresh(chain.id(place), place, self.size, chain.time_at(from));
        Some(chain.put(&known, from))
    }
}
