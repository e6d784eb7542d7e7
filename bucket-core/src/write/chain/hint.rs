//! What one batch remembers for the next: the bucket that took a chain's last record.
//!
//! The hint may be wrong. A statement that relies on it and finds other buckets changes nothing, and then
//! the tail is read.

use bson::{DateTime, RawDocument};

use super::{Chain, Known, Tail, state::Recalled};
use crate::bucket::sealed::tells_next;

/// The bucket that took the last record of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketHint {
    id: String,
    /// Its state after that, if it is known.
    known: Option<Known>,
    /// That record filled or closed it.
    is_full: bool,
    /// How far the source of the records had been stored.
    position: Option<i64>,
}

impl BucketHint {
    /// Whether the next record probably opens a bucket.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.is_full
    }
}

impl Chain {
    /// What a later batch can use: the bucket that took the last record, if that is known.
    #[must_use]
    pub fn hint(&self, lone: bool) -> Option<BucketHint> {
        let (id, known, is_full) = match (&self.tail, &self.last) {
            // Late records of one time usually come only once.
            _ if self.kind.is_late() => return None,
            // Others may have opened a later bucket since, and filled it. Then the next record is late, but
            // no statement would be refused for that.
            (Tail::Full(_), _) if self.kind.sorts() => return None,
            (Tail::Full(known), _) => (&known.id, Some(known), true),
            (Tail::Open(known), Some(id)) if known.id == *id => (id, Some(known), false),
            // Without its count it is useful only for a single record, whose miss shows.
            (_, Some(id)) if lone => (id, None, false),
            _ => return None,
        };
        Some(BucketHint {
            id: id.clone(),
            known: known.cloned(),
            is_full,
            position: self.reached(),
        })
    }

    /// Uses the hint of an earlier batch.
    pub(in crate::write) fn recall(&mut self, hint: &BucketHint, lone: bool) {
        let gone_by = if lone && !hint.is_full {
            self.guess(hint.id.clone());
            true
        } else {
            self.recall_tail(hint)
        };
        if let Some(position) = hint.position.filter(|_| gone_by) {
            self.recall_watermark(position);
        }
    }

    /// Uses the remembered tail; returns whether it is useful here.
    fn recall_tail(&mut self, hint: &BucketHint) -> bool {
        let Some(known) = &hint.known else {
            return false;
        };
        let mut known = known.clone();
        if !self.kind.carries_size() {
            // Limits may have been changed since.
            known.size = self.kind.size();
        }
        if !known.id.starts_with(&self.prefix) {
            return false;
        }
        let has_room = known.has_room(self.spec);
        match hint.is_full {
            // Its statements check that it exists.
            false if has_room => self.tail = Tail::Open(known),
            true if has_room && !known.marked => return false,
            // If it is gone, buckets numbered without gaps start anew, and positions may too.
            true if self.builds_on_full() => self.remembered = Some(Box::new(known)),
            true => self.tail = Tail::Full(known),
            false => return false,
        }
        self.recalled = Recalled::Unverified;
        true
    }

    /// Whether the next bucket is correct only if the full one before it exists.
    fn builds_on_full(&self) -> bool {
        self.kind.builds_on_full() || self.watermark.is_some()
    }

    /// The full bucket that must be checked.
    pub(in crate::write) fn remembered(&self) -> Option<&Known> {
        self.remembered.as_deref()
    }

    /// Takes that bucket, or `None` if it is gone. Returns the indexes of the records that are already stored.
    pub(in crate::write) fn confirm(
        &mut self,
        found: Option<&RawDocument>,
        now: DateTime,
    ) -> Vec<usize> {
        self.remembered = None;
        self.forget_watermark();
        if self.merged && found.is_some_and(|found| !tells_next(found, now)) {
            self.tail = Tail::Unknown;
            self.recalled = Recalled::Nothing;
            return Vec::new();
        }
        // The look at the tail meets a damaged one again.
        let Some(found) = found.filter(|found| self.saw(found).is_ok()) else {
            self.tail = Tail::Unknown;
            self.recalled = Recalled::InVain;
            return Vec::new();
        };
        // It is the last one as long as statements that rely on it are applied.
        if self.has_position(found) {
            return self.saw_watermark(Some(found));
        }
        Vec::new()
    }

    /// Whether what was recalled turned out to be out of date.
    #[must_use]
    pub fn recalled_in_vain(&self) -> bool {
        self.recalled == Recalled::InVain
    }
}
