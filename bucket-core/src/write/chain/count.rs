//! The manual's form: pages of a key, one open at a time, each after all existing ones.

use super::{Chain, Known, Need, Step, Tail, rules::Rules, tail::Reservation};
use crate::{
    bucket::id::Place,
    error::{Damage, DamagedBucket},
    model::form::Pages,
    read::{self, FindPlan},
    write::Action,
};

impl Rules for Pages {
    /// The open page, or the newest one.
    fn saw(&self, chain: &Chain, known: Known) -> Result<Tail, DamagedBucket> {
        if known.has_room(chain.spec) {
            return Ok(Tail::Open(known));
        }
        if known.blocks(chain.spec) {
            let message = "it is sealed and takes no more records, but counts as the open bucket of its key: call `verify()` and \
                           `repair()`, which closes it"
                .to_owned();
            let damage = Damage::Refused { message };
            return Err(DamagedBucket::new(format!("{:?}", known.id), damage));
        }
        let next = chain.id(known.place.after(known.place));
        if next <= known.id {
            let message =
                format!("no bucket can follow it, because the next id, `{next}`, sorts before it");
            return Err(DamagedBucket::new(
                format!("{:?}", known.id),
                Damage::Id { message },
            ));
        }
        Ok(Tail::Full(known))
    }

    fn next(&self, chain: &Chain, tail: &Tail, from: usize) -> Option<Step> {
        match tail {
            Tail::Unknown => None,
            Tail::Open(known) if known.reserved => Some(chain.take_over(known, from)),
            Tail::Open(known) => {
                let id = known.id.clone();
                let take = chain.fit(from, known, known.room());
                let action = match known.count {
                    0 => Action::Begin {
                        id,
                        reserved: false,
                    },
                    _ => Action::Fill { id },
                };
                Some(chain.page_step(known, action, from, take))
            }
            Tail::Reserved(reservation) => Some(chain.next_reserved(reservation, from)),
            Tail::NoneOpen => Some(chain.open_page(None, from)),
            Tail::Full(last) => Some(chain.open_page(Some(last), from)),
        }
    }

    fn first_need(&self, chain: &Chain) -> Need {
        if chain.has_open_index() {
            Need::OpenBucket
        } else {
            Need::NewestBucket
        }
    }

    fn open_bucket(&self, chain: &Chain) -> FindPlan {
        // While a capacity is being raised, the newest bucket may have room that the index does not see. An opening that is
        // refused may have met an older one in the index.
        if chain.has_open_index() || chain.misses > 0 {
            read::open_buckets(chain.spec, &[&chain.key])
        } else {
            self.newest_bucket(chain)
        }
    }

    fn newest_bucket(&self, chain: &Chain) -> FindPlan {
        read::newest(chain.spec, &chain.key)
    }

    fn next_place(&self, chain: &Chain) -> Option<Place> {
        match &chain.tail {
            Tail::Open(known) => Some(known.place),
            Tail::Full(last) => Some(last.place.after(last.place)),
            Tail::Unknown | Tail::NoneOpen | Tail::Reserved(_) => None,
        }
    }

    fn guessed(&self, _: &Chain, id: &str) -> Action {
        Action::Append { id: id.to_owned() }
    }
}

impl Chain {
    /// Opens the bucket after this one.
    fn open_page(&self, last: Option<&Known>, from: usize) -> Step {
        let known = self.page_after(last.map(|last| last.place), from);
        let id = known.id.clone();
        // Nothing may have been opened since the newest one was seen. This matters if the index drops a
        // bucket before it is full, and if buckets that others opened and filled may hold records of the same
        // source.
        let strict = self.spec.raised_from().is_some() || self.watermark.is_some();
        let behind = match last {
            _ if !strict => id.clone(),
            Some(last) => last.id.clone(),
            None => self.prefix.clone(),
        };
        if let Some(bucket) = self.worth_reserving(&known, from) {
            return Self::reserve(Reservation {
                bucket,
                last: last.map(|last| last.place),
                behind,
            });
        }
        // One place stays free, so that the index on open buckets sees every opening.
        let seen = self.spec.open_below(self.kind.size());
        let mut take = self.fit(from, &known, seen.saturating_sub(1).max(1));
        while take > 1 && !known.with(take, self.bytes(from, take)).has_room(self.spec) {
            // The index tells by the size too.
            take -= 1;
        }
        self.page_step(&known, Action::Open { id, behind }, from, take)
    }

    /// The statement that stores this many records in this bucket.
    pub(super) fn page_step(
        &self,
        known: &Known,
        action: Action,
        from: usize,
        take: usize,
    ) -> Step {
        let after = known.with(take, self.bytes(from, take));
        let after = if after.has_room(self.spec) {
            Tail::Open(after)
        } else {
            Tail::Full(after)
        };
        Step {
            action,
            take,
            after,
        }
    }

    /// The bucket that the record at `from` opens after this place.
    pub(super) fn page_after(&self, last: Option<Place>, from: usize) -> Known {
        let time = self.time_at(from);
        let own = Place::at(time, self.spec.id_unit());
        let place = last.map_or(own, |last| own.after(last));
        Known::fresh(self.id(place), place, self.kind.size(), time)
    }
}
