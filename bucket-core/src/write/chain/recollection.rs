//! What one batch leaves for the next: the bucket that a chain's last record went into.
//!
//! It is hearsay. A statement that goes by it and finds the buckets otherwise changes nothing, and
//! then the tail is read.

use bson::RawDocument;

use super::{Chain, Known, Tail, state::Recalled};

/// The bucket that took the last record of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recollection {
    id: String,
    /// How it stood after that, where that is known.
    known: Option<Known>,
    /// That record filled or closed it.
    is_full: bool,
    /// How far the source of the records had been stored then.
    position: Option<i64>,
}

impl Recollection {
    /// Whether the next record is thought to open a bucket.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.is_full
    }
}

impl Chain {
    /// What a later batch gains by, if it does.
    #[must_use]
    pub fn recollection(&self, lone: bool) -> Option<Recollection> {
        let (id, known, is_full) = match (&self.tail, &self.last) {
            // Late records of one time come once.
            _ if self.kind.is_late() => return None,
            // Others may have gone on to a later one since, and filled it: then the next record is late,
            // and no statement would be refused for that.
            (Tail::Full(_), _) if self.kind.sorts() => return None,
            (Tail::Full(known), _) => (&known.id, Some(known), true),
            (Tail::Open(known), Some(id)) if known.id == *id => (id, Some(known), false),
            // Without its count it is good for a lone record alone, whose miss shows.
            (_, Some(id)) if lone => (id, None, false),
            _ => return None,
        };
        Some(Recollection {
            id: id.clone(),
            known: known.cloned(),
            is_full,
            position: self.reached(),
        })
    }

    /// Goes by what an earlier batch has left.
    pub(in crate::write) fn recall(&mut self, earlier: &Recollection, lone: bool) {
        let gone_by = if lone && !earlier.is_full {
            self.guess(earlier.id.clone());
            true
        } else {
            self.recall_tail(earlier)
        };
        if let Some(position) = earlier.position.filter(|_| gone_by) {
            self.recall_watermark(position);
        }
    }

    /// Whether it is of use here.
    fn recall_tail(&mut self, earlier: &Recollection) -> bool {
        let Some(known) = &earlier.known else {
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
        match earlier.is_full {
            // Its statements ask whether it is there.
            false if has_room => self.tail = Tail::Open(known),
            true if has_room && !known.marked => return false,
            // Where it is gone, those of a key without gaps begin anew, and so may positions.
            true if self.builds_on_full() => self.remembered = Some(known),
            true => self.tail = Tail::Full(known),
            false => return false,
        }
        self.recalled = Recalled::Hearsay;
        true
    }

    /// Whether the next bucket is right only if the full one before it is there.
    fn builds_on_full(&self) -> bool {
        self.kind.builds_on_full() || self.watermark.is_some()
    }

    /// The full bucket that is to be asked for.
    pub(in crate::write) fn remembered(&self) -> Option<&Known> {
        self.remembered.as_ref()
    }

    /// That bucket was read, or is gone. Gives the indexes of the records that are stored already.
    pub(in crate::write) fn confirm(&mut self, found: Option<&RawDocument>) -> Vec<usize> {
        self.remembered = None;
        self.forget_watermark();
        // One that is damaged is met again by the look at the tail.
        let Some(found) = found.filter(|found| self.saw(found).is_ok()) else {
            self.tail = Tail::Unknown;
            self.recalled = Recalled::InVain;
            return Vec::new();
        };
        // Nothing stands behind it as long as statements that go by it are applied.
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
