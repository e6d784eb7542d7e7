//! Late records of a key: into a bucket that covers them, or into side buckets.
//!
//! A side bucket covers a span of the longest duration, aligned to 1970, so that late records of the same
//! time share it in any order of arrival. A sequence without gaps distinguishes its id from others of its
//! time, as in a window.

use bson::{DateTime, doc};

use super::{Chain, Known, Step, Tail, behind, rules::Rules};
use crate::{
    bucket::id::Place,
    error::DamagedBucket,
    model::form::Late,
    read::{self, FindPlan},
};

impl Rules for Late {
    /// The newest bucket with room that covers the first record.
    fn open_bucket(&self, chain: &Chain) -> FindPlan {
        let names = chain.spec.names();
        let unit = chain.spec.id_unit();
        let mut room = Known::room_condition(chain.spec, self.size);
        room.insert(names.closed, true);
        let time = chain.time_at(0);
        let (earliest, latest) = if self.merge {
            let earliest = time.timestamp_millis();
            let earliest = earliest.saturating_sub(self.max_duration - 1);
            room.insert(
                names.start,
                doc! { "$gte": DateTime::from_millis(earliest), "$lte": time },
            );
            (DateTime::from_millis(earliest), time)
        } else {
            room.insert(names.start, self.start);
            room.insert(names.late, true);
            (self.start, self.start)
        };
        let first = chain.id(Place::at(earliest, unit));
        let last = behind(&chain.id(Place::at(latest, unit)));
        read::newest_between(chain.spec, &chain.key, (&first, &last), &room).of_majority()
    }

    /// The newest bucket whose id has this time. One in order may have it, too, and be merged with others.
    fn newest_bucket(&self, chain: &Chain) -> FindPlan {
        chain.newest_or_merged_of(self.start).of_majority()
    }

    /// A side bucket is never tried without a look.
    fn guess(&self, _: &mut Chain, _: String) {}

    fn saw(&self, chain: &Chain, known: Known) -> Result<Tail, DamagedBucket> {
        let covers = chain.kind.covers(known.start, chain.time_at(0));
        Ok(if covers && known.marked && known.has_room(chain.spec) {
            Tail::Open(known)
        } else {
            Tail::Full(known)
        })
    }

    fn next(&self, chain: &Chain, tail: &Tail, from: usize) -> Option<Step> {
        let first = Place::at(self.start, chain.spec.id_unit());
        let place = match tail {
            Tail::Open(known) if chain.kind.covers(known.start, chain.time_at(from)) => {
                return Some(chain.put(known, from));
            }
            // The next record needs another bucket, which must be looked up.
            Tail::Unknown | Tail::Open(_) | Tail::Reserved(_) => return None,
            Tail::NoneOpen => first,
            Tail::Full(last) => first.after(last.place),
        };
        let known = Known::fresh(chain.id(place), place, self.size, self.start);
        Some(chain.put(&known, from))
    }
}

impl Chain {
    /// Whether the bucket that took the last records takes the next one too.
    pub(super) fn goes_on_late(&self) -> bool {
        matches!(&self.tail, Tail::Open(known) if self.kind.covers(known.start, self.time_at(0)))
    }
}
