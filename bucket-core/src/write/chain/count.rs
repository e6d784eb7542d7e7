//! The manual's form: pages of a key, one open at a time, each behind all that exist.

use super::{Chain, Known, Step, Tail};
use crate::{
    error::{Damage, DamagedBucket},
    id::Place,
    write::Action,
};

impl Chain {
    /// The open page, or the newest one.
    pub(super) fn saw_page(&self, known: Known) -> Result<Tail, DamagedBucket> {
        if known.has_room(self.spec) {
            return Ok(Tail::Open(known));
        }
        let next = self.id(known.place.after(known.place));
        if next <= known.id {
            let message = format!("no bucket can be opened behind it: `{next}` sorts before it");
            return Err(DamagedBucket::new(
                format!("{:?}", known.id),
                Damage::Id { message },
            ));
        }
        Ok(Tail::Full(known))
    }

    pub(super) fn next_page(&self, tail: &Tail, from: usize) -> Option<Step> {
        let (known, action, room) = match tail {
            Tail::Unknown => return None,
            Tail::Open(known) => {
                let id = known.id.clone();
                (known.clone(), Action::Fill { id }, known.room())
            }
            Tail::NoneOpen | Tail::Full(_) => {
                let time = self.time_at(from);
                let own = Place::at(time, self.spec.id_unit());
                let place = match tail {
                    Tail::Full(last) => own.after(last.place),
                    _ => own,
                };
                let id = self.id(place);
                let size = self.kind.size();
                let known = Known::fresh(id.clone(), place, size, time);
                // One place stays free, so that the index on open buckets sees every opening.
                let seen = size.min(self.spec.raised_from().unwrap_or(size));
                // Nothing may have been opened since the newest one was seen: where the index loses
                // sight of a bucket before it is full, and where what others have opened and
                // filled may hold records of the same source.
                let strict = self.spec.raised_from().is_some() || self.watermark.is_some();
                let behind = match tail {
                    _ if !strict => id.clone(),
                    Tail::Full(last) => last.id.clone(),
                    _ => self.prefix.clone(),
                };
                (
                    known,
                    Action::Open { id, behind },
                    seen.saturating_sub(1).max(1),
                )
            }
        };
        let take = self.fit(from, &known, room);
        let after = known.with(take, self.bytes(from, take));
        let after = if after.has_room(self.spec) {
            Tail::Open(after)
        } else {
            Tail::Full(after)
        };
        Some(Step {
            action,
            take,
            after,
        })
    }
}
