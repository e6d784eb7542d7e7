//! Holds back records of a source that come after one that may not be stored.
//!
//! The position in a bucket says that everything of its source up to there is stored. So once a record of a
//! chain failed, or its outcome is unknown, the same call must not store a later one of that chain. Otherwise
//! the position would pass the record, and the source could never deliver it again. Each chain has its own
//! position: the buckets of a key, or in models with windows the buckets of a key and a window.

use super::{Batch, Chain, HeldBack, Holds, Kind, chain::identity_of};
use crate::bucket::record::Record;

impl Batch {
    /// A record of the key just taken is not stored.
    pub(super) fn lost(&mut self, kind: Option<Kind>) {
        if self.source().is_none() {
            return;
        }
        let position = self.position();
        let key = self.taken_key();
        let identity = kind.map_or_else(|| key.to_vec(), |kind| identity_of(key, kind));
        self.holds.add(&identity, position);
    }

    /// Whether the record must not be sent, because an earlier one is not stored.
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
    /// The records that a later batch of the same call must not send.
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

    /// Sends no record that comes after one that another batch of the same call has not stored.
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

    /// Takes the records that were held back since the last call; they were not sent.
    #[must_use]
    pub fn take_held_back(&mut self) -> Vec<HeldBack> {
        std::mem::take(&mut self.held_back)
    }

    /// Takes out the records that no chain may send any more.
    pub(super) fn set_held_back_aside(&mut self) {
        self.held_back
            .extend(self.chains.iter_mut().flat_map(Chain::take_held_back));
    }
}
