//! Windows: the buckets of a key and a window, numbered in a sequence without gaps.
//!
//! The id of the first one follows from the record only, so it is tried without a look: the statement appends
//! or opens, in any order with others. Only a writer that saw the last bucket full opens a further one, under
//! the next id. Full buckets stay full and ids are unique, so at most one has room.

use bson::Document;

use super::{Chain, Known, Need, Step, Tail, rules::Rules};
use crate::{
    bucket::id::{self, Place},
    error::DamagedBucket,
    model::form::InWindow,
    read::FindPlan,
};

impl Rules for InWindow {
    /// The newest bucket with room of a window that ends where ours does: buckets from before the window was
    /// changed are not touched. Once this read shows it as full, the next part follows, so it reads only what
    /// cannot be rolled back.
    fn open_bucket(&self, chain: &Chain) -> FindPlan {
        let mut room = Known::room_condition(chain.spec, self.size);
        room.insert(chain.spec.names().end, self.end);
        chain.newest_of(self.start, room).of_majority()
    }

    fn newest_bucket(&self, chain: &Chain) -> FindPlan {
        chain.newest_of(self.start, Document::new()).of_majority()
    }

    fn newest_with(&self, chain: &Chain, condition: &Document) -> FindPlan {
        chain.newest_of(self.start, condition.clone())
    }

    /// The first bucket of the window is tried without a look.
    fn first_need(&self, _: &Chain) -> Need {
        Need::Statements
    }

    fn guess(&self, chain: &mut Chain, id: String) {
        let first = Place::at(self.start, chain.spec.id_unit());
        let place = id::parse_place(chain.spec, &id).ok();
        if let Some(place) = place.filter(|place| place.time == first.time) {
            // It existed: if it is gone now, it must not be opened again with a later record.
            chain.tail = Tail::Open(Known {
                fresh: false,
                ..Known::fresh(id, place, self.size, self.start)
            });
        }
    }

    fn saw(&self, chain: &Chain, known: Known) -> Result<Tail, DamagedBucket> {
        Ok(if known.end == self.end && known.has_room(chain.spec) {
            Tail::Open(known)
        } else {
            Tail::Full(known)
        })
    }

    fn next(&self, chain: &Chain, tail: &Tail, from: usize) -> Option<Step> {
        let first = Place::at(self.start, chain.spec.id_unit());
        let place = match tail {
            Tail::Open(known) => return Some(chain.put(known, from)),
            Tail::Reserved(_) => return None,
            Tail::Unknown | Tail::NoneOpen => first,
            Tail::Full(last) => first.after(last.place),
        };
        let known = Known::fresh(chain.id(place), place, self.size, self.start);
        Some(chain.put(&known, from))
    }
}
