//! How far the source of a chain's records has been stored: what is asked, recalled and skipped.

use bson::{Document, RawDocument, doc};

use super::{Chain, watermark::Watermark};
use crate::{
    model::whole,
    read::{FindPlan, ReadLevel},
    write::slot::Slot,
};

impl Chain {
    /// The read that finds the newest bucket with a position of the source. It is to follow the look
    /// at the tail: what was stored before that look is seen by this one. What it finds is reported as
    /// stored, so it must stay.
    #[must_use]
    pub fn watermark(&self) -> FindPlan {
        let Some(watermark) = &self.watermark else {
            return self.newest_bucket();
        };
        let has_position = doc! { watermark.path(): { "$exists": true } };
        let found = self.kind.rules().newest_with(self, &has_position);
        let mut projection = Document::new();
        projection.insert(watermark.path(), 1);
        FindPlan {
            projection,
            level: ReadLevel::CausalMajority,
            ..found
        }
    }

    /// That bucket was read, or there is none. Gives the indexes of the records that are stored
    /// already.
    pub fn saw_watermark(&mut self, found: Option<&RawDocument>) -> Vec<usize> {
        let Some(watermark) = &mut self.watermark else {
            return Vec::new();
        };
        watermark.asked = true;
        // Its word counts, also where an earlier batch has left another one.
        watermark.stored = found.and_then(|bucket| stored_position(bucket, watermark.path()));
        self.skip_stored()
    }

    /// Whether this bucket has a position of the source.
    pub(super) fn has_position(&self, bucket: &RawDocument) -> bool {
        let path = self.watermark.as_ref().map(Watermark::path);
        path.is_some_and(|path| stored_position(bucket, path).is_some())
    }

    /// Goes by a position that an earlier batch has reached: only where every record stands behind it,
    /// so that the statements ask whether it is still the last one. That a record is stored is for the
    /// server to say: the buckets may be gone.
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
