//! Windows: the buckets of a key and a window, numbered in a sequence without gaps.
//!
//! The id of the first one follows from the record only, so it is tried without a look: the statement appends
//! or opens, in any order with others. Only a writer that saw the last bucket full opens a further one, under
//! the next id. Full buckets stay full and ids are unique, so at most one has room.
//!
//! In parts, every bucket counts as full as soon as it is there. So each statement inserts the next one.

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
    ///
    /// Records of a source go to no part but the newest, so that their positions rise with the parts. After a
    /// part was removed, or the limits were raised, an earlier part may have room too.
    fn open_bucket(&self, chain: &Chain) -> FindPlan {
        if chain.watermark.is_some() || self.parts {
            return self.newest_bucket(chain);
        }
        let mut room = Known::room_condition(chain.spec, self.size);
        room.insert(chain.spec.names().end, self.end);
        chain.newest_of(self.start, room).of_majority()
    }

    fn newest_bucket(&self, chain: &Chain) -> FindPlan {
        let plan = if chain.merged {
            chain.newest_or_merged_of(self.start)
        } else {
            chain.newest_of(self.start, Document::new())
        };
        plan.of_majority()
    }

    fn newest_with(&self, chain: &Chain, condition: &Document) -> FindPlan {
        chain.newest_of(self.start, condition.clone())
    }

    fn next_place(&self, chain: &Chain) -> Option<Place> {
        self.place_after(chain, &chain.tail)
    }

    fn may_leave_open(&self) -> bool {
        true
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
        if let Tail::Open(known) = tail {
            return Some(chain.put(known, from));
        }
        let place = self.place_after(chain, tail)?;
        let known = Known::fresh(chain.id(place), place, self.size, self.start);
        Some(chain.put(&known, from))
    }
}

impl InWindow {
    /// Where the next bucket is.
    fn place_after(&self, chain: &Chain, tail: &Tail) -> Option<Place> {
        let first = Place::at(self.start, chain.spec.id_unit());
        match tail {
            Tail::Open(known) => Some(known.place),
            Tail::Reserved(_) => None,
            Tail::Unknown | Tail::NoneOpen => Some(first),
            Tail::Full(last) => Some(first.after(last.place)),
        }
    }
}
