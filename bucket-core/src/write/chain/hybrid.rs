//! Buckets that start with their first record and are closed by count or by time.
//!
//! The time of a record closes a bucket, never the clock: a record after the span of the open bucket marks it
//! as closed and opens the next one. The unique index on buckets that are not closed requires the mark before
//! the opening.

use bson::{DateTime, doc};

use super::{
    Chain, Known, Step, Tail, behind,
    rules::Rules,
    state::{Beside, Taken},
};
use crate::{
    bucket::id::{self, Place},
    error::DamagedBucket,
    model::form::InTime,
    read::{self, FindPlan},
    write::slot::Slot,
};

impl Rules for InTime {
    fn newest_bucket(&self, chain: &Chain) -> FindPlan {
        let Some(taken) = chain.asks_beside() else {
            return read::newest_in_order(chain.spec, &chain.key);
        };
        let first = chain.id(Place {
            sequence: 0,
            ..taken
        });
        let late = doc! { chain.spec.names().late: true };
        read::newest_between(chain.spec, &chain.key, (&first, &behind(&first)), &late).of_majority()
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
            Tail::NoneOpen => chain.past_beside(own),
            Tail::Full(last) if time < last.start => return None,
            Tail::Full(last) => chain.past_beside(own.after(last.place)),
        };
        let known = Known::fresh(chain.id(place), place, self.size, time);
        Some(chain.put(&known, from))
    }
}

impl Chain {
    /// The place that could not be opened, if it is time to look for buckets for late records there. One refusal is
    /// most often a race.
    pub(super) fn asks_beside(&self) -> Option<Place> {
        let Taken {
            id, times, beside, ..
        } = self.taken.as_deref()?;
        let is_asked = self.kind.in_time().is_some() && *times > 1 && *beside == Beside::Unasked;
        is_asked.then(|| id::parse_place(self.spec, id).ok())?
    }

    /// Whether those buckets were the last ones that were looked at.
    pub(in crate::write) fn has_looked_beside(&self) -> bool {
        let beside = self.taken.as_ref().map(|taken| taken.beside);
        self.tail == Tail::Unknown && beside.is_some_and(|beside| beside != Beside::Unasked)
    }

    /// This place, or the next one that no bucket for late records has.
    fn past_beside(&self, place: Place) -> Place {
        match self.taken.as_ref().map(|taken| taken.beside) {
            Some(Beside::At(last)) if last.time == place.time => place.max(place.after(last)),
            _ => place,
        }
    }

    /// The start of the newest bucket, if it is known.
    pub(in crate::write) fn newest_start(&self) -> Option<DateTime> {
        match &self.tail {
            Tail::Open(known) | Tail::Full(known) if self.guess.is_none() => Some(known.start),
            _ => None,
        }
    }

    /// The number of records that are older than the newest bucket. They come first.
    fn late(&self) -> usize {
        let start = self.newest_start();
        start.map_or(0, |start| {
            self.pending.partition_point(|slot| slot.time < start)
        })
    }

    /// Takes out the records that are older than the newest bucket.
    pub(in crate::write) fn take_late(&mut self) -> Vec<Slot> {
        let late = self.late();
        self.suspects.pass(late);
        self.pending.drain(..late).collect()
    }

    /// Whether such records must be looked for, because they may already be stored.
    pub(in crate::write) fn suspects_late(&mut self) -> bool {
        self.suspect_first_of(self.late())
    }
}
