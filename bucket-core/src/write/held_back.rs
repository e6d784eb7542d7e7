//! What is held back: records of a source that stand behind one that is not known to be stored.
//!
//! The position that a bucket keeps says that everything of its source up to there is stored. So once a
//! record of a chain failed, or its fate is not known, no later one of that chain may be stored by the
//! same call: the position would pass the record, and the source could never deliver it again. A chain
//! is what the position is kept for: the buckets of a key, in models with windows those of a key and a
//! window.

use std::collections::{HashMap, hash_map::Entry};

use super::{Batch, Chain, Kind, chain::identity_of};
use crate::record::Record;

/// A record of a source that was not sent, because an earlier one of its key is not known to be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeldBack {
    /// The caller's index of the record.
    pub index: usize,
    /// Its position in the source.
    pub position: i64,
    /// The position of the first record that is not known to be stored.
    pub failed: i64,
}

/// Behind which positions a call stores no more records, chain by chain.
///
/// ```
/// # use bucket_core::write::Batch;
/// fn hand_over(done: &Batch, next: &mut Batch) {
///     next.hold_back(&done.holds());
///     for held in next.take_held_back() {
///         eprintln!("{} is not sent, because {} failed", held.position, held.failed);
///     }
/// }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Holds {
    /// By key, as BSON, and what tells a chain from others of its key; the key alone where its chain
    /// could not be told.
    failed: HashMap<Box<[u8]>, i64>,
}

impl Holds {
    fn add(&mut self, identity: &[u8], position: i64) {
        match self.failed.entry(identity.into()) {
            Entry::Vacant(vacant) => {
                vacant.insert(position);
            }
            Entry::Occupied(mut occupied) => {
                let first = occupied.get_mut();
                *first = position.min(*first);
            }
        }
    }

    fn of(&self, key: &[u8], kind: Kind) -> Option<i64> {
        if self.failed.is_empty() {
            return None;
        }
        let identity = identity_of(key, kind);
        // Keys are elements under the same names, so none of them begins another one.
        let [chain, key] = [identity.as_slice(), key].map(|it| self.failed.get(it).copied());
        chain.into_iter().chain(key).min()
    }
}

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
