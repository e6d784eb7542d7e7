//! How far the source of a chain's records has been stored: reads, memory and skips.

use bson::{RawDocument, doc};

use super::{Chain, Known, Tail, state::Overtaken};
use crate::{
    model::{form::Kind, whole},
    read::{self, FindPlan, ReadLevel, Remembered},
    write::slot::Slot,
};

impl Chain {
    /// The read that finds the newest bucket with a position of the source. Run it after the read of the
    /// tail, so that it sees everything stored before that. Records up to the position are reported as
    /// stored, so it must be permanent.
    #[must_use]
    pub fn watermark(&self) -> FindPlan {
        let Some(watermark) = &self.watermark else {
            return self.newest_bucket();
        };
        let mut plan = match &self.tail {
            Tail::Open(known) if watermark.asks_open => {
                let open = Remembered {
                    key: &self.key,
                    id: &known.id,
                    start: known.start,
                    place: known.place,
                };
                read::remembered(self.spec, &[open], Some(watermark.path()))
            }
            _ => {
                let has_position = doc! { watermark.path(): { "$exists": true } };
                self.kind.rules().newest_with(self, &has_position)
            }
        };
        plan.projection.insert(watermark.path(), 1);
        plan.level = ReadLevel::CausalMajority;
        plan
    }

    /// Takes that bucket, or `None` if there is none. Returns the indexes of the records that are already
    /// stored.
    pub fn saw_watermark(&mut self, found: Option<&RawDocument>) -> Vec<usize> {
        let last = found.and_then(|bucket| self.known(bucket).ok());
        let Some(watermark) = &mut self.watermark else {
            return Vec::new();
        };
        let stored = found.and_then(|bucket| stored_position(bucket, watermark.path()));
        let is_of_open = std::mem::take(&mut watermark.asks_open);
        watermark.asked = true;
        // The server's answer counts, even if an earlier batch left another position.
        watermark.stored = if is_of_open {
            watermark.stored.max(stored)
        } else {
            stored
        };
        let skipped = self.skip_stored();
        if !is_of_open {
            self.met_position(last);
        }
        skipped
    }

    /// The newest bucket with a position is there. If the next records would go to an earlier one, positions
    /// would not rise with the buckets any more, and the newest one would not show how far the source has got.
    /// That can only be if buckets were removed or opened since the tail was seen, or if it was not looked for.
    fn met_position(&mut self, last: Option<Known>) {
        let rules = self.kind.rules();
        let next = rules.next_place(self);
        let later = last.filter(|last| next.is_some_and(|next| next < last.place));
        let Some(later) = later.filter(|_| !self.pending.is_empty()) else {
            self.overtaken_by = None;
            return;
        };
        match (&self.tail, &mut self.watermark) {
            (Tail::Open(open), _) if matches!(self.kind, Kind::Count(_)) => {
                self.overtaken_by = Some(Box::new(match self.overtaken_by.take() {
                    Some(seen) if seen.open == open.id => seen.by(later.id),
                    _ => Overtaken::new(open.id.clone(), later.id),
                }));
            }
            (Tail::Open(_), Some(watermark)) if !rules.may_leave_open() => {
                watermark.asked = false;
                watermark.asks_open = true;
            }
            _ => {
                self.tail = Tail::Unknown;
                self.look_behind = true;
                self.forget_watermark();
            }
        }
    }

    /// Whether this bucket has a position of the source.
    pub(super) fn has_position(&self, bucket: &RawDocument) -> bool {
        let path = self.watermark.as_ref().map(|it| it.path());
        path.is_some_and(|path| stored_position(bucket, path).is_some())
    }

    /// Relies on a position that an earlier batch has reached, but only if every record comes after it. Then
    /// the statements check that it is still the last one. Only the server can say that a record is stored:
    /// the buckets may be gone.
    pub(super) fn recall_watermark(&mut self, position: i64) {
        let is_behind = |slot: &Slot| slot.position > position;
        if let Some(watermark) = &mut self.watermark
            && self.pending.front().is_some_and(is_behind)
        {
            watermark.asked = true;
            watermark.stored = Some(position);
        }
    }

    /// The position up to which the source's records of this chain are known to be stored.
    #[must_use]
    pub fn reached(&self) -> Option<i64> {
        let watermark = self.watermark.as_ref()?;
        watermark.stored.filter(|_| watermark.asked)
    }

    fn skip_stored(&mut self) -> Vec<usize> {
        let stored = self.watermark.as_ref().and_then(|it| it.stored);
        let mut skipped = Vec::new();
        self.pending.retain(|slot| {
            let is_stored = Some(slot.position) <= stored;
            if is_stored {
                skipped.push(slot.index);
            }
            !is_stored
        });
        skipped
    }
}

/// The number at a dotted path of two names.
fn stored_position(bucket: &RawDocument, path: &str) -> Option<i64> {
    let (outer, inner) = path.split_once('.')?;
    let sources = bucket.get_document(outer).ok()?;
    whole::of_raw(sources.get(inner).ok()??)
}
