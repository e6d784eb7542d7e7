//! Windows: the buckets of a key and a window, told apart by a sequence without gaps.
//!
//! The first one's id follows from the record alone, so it is tried on trust: the statement appends
//! or opens, and commutes with every other. A further one is opened only by who saw the last one
//! full, under the id behind it: full buckets stay full and ids are unique, so there is one with
//! room at most.

use bson::Document;

use super::{Chain, Known, Need, Step, Tail, rules::Rules};
use crate::{
    bucket::id::{self, Place},
    error::DamagedBucket,
    model::form::InWindow,
    read::FindPlan,
};

impl Rules for InWindow {
    /// The newest bucket with room of a window that ends where ours does: buckets from before the
    /// window was changed are left as they are. Once it is full by what is seen here the next part follows,
    /// so nothing counts that may be taken back.
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

    /// The first bucket of the window is tried on trust.
    fn first_need(&self, _: &Chain) -> Need {
        Need::Statements
    }

    fn guess(&self, chain: &mut Chain, id: String) {
        let first = Place::at(self.start, chain.spec.id_unit());
        let place = id::parse_place(chain.spec, &id).ok();
        if let Some(place) = place.filter(|place| place.time == first.time) {
            // It was there: it is not begun again in its middle should it be gone.
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
