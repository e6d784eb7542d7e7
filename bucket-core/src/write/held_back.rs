//! What is held back: records of a source that stand behind one that is not known to be stored.
//!
//! The position that a bucket keeps says that everything of its source up to there is stored. So once a
//! record of a chain failed, or its fate is not known, no later one of that chain may be stored by the
//! same call: the position would pass the record, and the source could never deliver it again. A chain
//! is what the position is kept for: the buckets of a key, in models with windows those of a key and a
//! window.

use super::{Batch, Chain, HeldBack, Holds, Kind, chain::identity_of};
use crate::bucket::record::Record;

impl Batch {
    /// A record of the key that was just taken is not stored.
    pub(super) fn lost(&mut self, kind: Option<Kind>) {
        if self.source().is_none() {
            return;
        }
        let position = self.position();
        let key = self.taken_key();
        let identity = kind.map_or_else(|| key.to_vec(), |kind| identity_of(key, kind));
        self.holds.add(&identity, position);
    }

    /// Whether the record may not be sent, because one before it is not stored.
    pub(super) fn holds_back<T: Record>(&mut self, index: usize, record: &T, kind: Kind) -> bool {
        if self.holds.failed.is_empty() {
            return false;
        }
        self.take_key(record);
        let Some(failed) = self.holds.of(self.taken_key(), kind) else {
            return false;
        };
        let position = self.position();
        self.held_back.push(HeldBack {
            index,
            position,
            failed,
        });
        true
    }
}

impl Batch {
    /// Which records a later batch of the same call must not send.
    #[must_use]
    pub fn holds(&self) -> Holds {
        let mut holds = self.holds.clone();
        for chain in self.chains() {
            if let Some(position) = chain.failed_from() {
                holds.add(&chain.memory_key(), position);
            }
        }
        holds
    }

    /// Sends no record that stands behind one that another batch of the same call has not stored.
    pub fn hold_back(&mut self, holds: &Holds) {
        for (identity, position) in &holds.failed {
            self.holds.add(identity, *position);
        }
        for chain in &mut self.chains {
            if let Some(failed) = self.holds.of(chain.key(), chain.kind()) {
                chain.fails_from(failed);
            }
        }
        self.set_held_back_aside();
    }

    /// The records that were held back since the last call: nothing of them was sent.
    #[must_use]
    pub fn take_held_back(&mut self) -> Vec<HeldBack> {
        std::mem::take(&mut self.held_back)
    }

    /// Takes out what no chain may send any more.
    pub(super) fn set_held_back_aside(&mut self) {
        self.held_back
            .extend(self.chains.iter_mut().flat_map(Chain::take_held_back));
    }
}
