//! Buckets that start with their first record and are closed by count or by time.
//!
//! The time of a record closes a bucket, never the clock: a record after the span of the open bucket marks it
//! as closed and opens the next one. The unique index on buckets that are not closed requires the mark before
//! the opening.

use bson::DateTime;

use super::{Chain, Known, Step, Tail, rules::Rules};
use crate::{
    bucket::id::Place,
    error::DamagedBucket,
    model::form::InTime,
    read::{self, FindPlan},
    write::slot::Slot,
};

impl Rules for InTime {
    fn newest_bucket(&self, chain: &Chain) -> FindPlan {
        read::newest_in_order(chain.spec, &chain.key)
    }

    fn saw(&self, _: &Chain, known: Known) -> Result<Tail, DamagedBucket> {
        Ok(known.by_mark())
    }

    fn next(&self, chain: &Chain, tail: &Tail, from: usize) -> Option<Step> {
        let time = chain.time_at(from);
        let own = Place::at(time, chain.spec.id_unit());
        let place = match tail {
            Tail::Unknown | Tail::Reserved(_) => return None,
            Tail::Open(known) if !known.has_room(chain.spec) => return Some(Chain::close(known)),
            Tail::Open(known) if chain.kind.covers(known.start, time) => {
                return Some(chain.put(known, from));
            }
            Tail::Open(known) if time < known.start => return None,
            Tail::Open(known) => return Some(Chain::close(known)),
            Tail::NoneOpen => own,
            Tail::Full(last) if time < last.start => return None,
            Tail::Full(last) => own.after(last.place),
        };
        let known = Known::fresh(chain.id(place), place, self.size, time);
        Some(chain.put(&known, from))
    }
}

impl Chain {
    /// The start of the newest bucket, if it is known.
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
