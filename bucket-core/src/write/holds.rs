//! Which records of a source are held back, and from which positions.

use std::collections::{HashMap, hash_map::Entry};

use super::{Kind, chain::identity_of};

/// A record of a source that was not sent, because an earlier one of its key may not be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeldBack {
    /// The caller's index of the record.
    pub index: usize,
    /// Its position in the source.
    pub position: i64,
    /// The position of the first record that may not be stored.
    pub failed: i64,
}

/// The positions after which a call stores no more records, chain by chain.
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
    /// By key, as BSON, and what distinguishes a chain from others of its key; by key only if the chain could
    /// not be determined.
    pub(super) failed: HashMap<Box<[u8]>, i64>,
}

impl Holds {
    pub(super) fn add(&mut self, identity: &[u8], position: i64) {
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

    pub(super) fn of(&self, key: &[u8], kind: Kind) -> Option<i64> {
        if self.failed.is_empty() {
            return None;
        }
        let identity = identity_of(key, kind);
        // Keys are elements with the same names, so none is a prefix of another.
        let [chain, key] = [identity.as_slice(), key].map(|it| self.failed.get(it).copied());
        chain.into_iter().chain(key).min()
    }
}
