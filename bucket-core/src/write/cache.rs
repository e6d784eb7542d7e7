//! What a handle has learned about its server, its collection and its keys.
//!
//! Remembering which bucket took the last record of a key makes a single insert one round trip. Nothing
//! depends on this memory: an append to a bucket that has filled up or gone away changes nothing, and then
//! the tail is read. A full bucket is different, because the next one is built on it. So it is remembered
//! only once a majority has it; what was written with a weaker concern is for such writes only; and the
//! server is asked whether it still exists. A remembered position of a source saves a read only if every
//! record comes after it; only the server decides that a record is a duplicate.

use std::collections::{HashMap, hash_map};

use foldhash::fast::RandomState;

use super::{Batch, BucketHint, Chain, Ground, Source, newness::Newness};

/// The most keys that are remembered; beyond that everything is forgotten, which costs each key one read.
const MAX_KEYS: usize = 10_000;

/// The most batches of a key in a row that look before they write.
const MAX_LOOKS: u8 = 31;

/// The longest key that is remembered, in bytes.
const MAX_KEY_BYTES: usize = 1_024;

/// What a handle and its clones have learned. The calls of the handle share it.
///
/// ```
/// use bucket_core::write::Cache;
///
/// let cache = Cache::default();
/// assert!(cache.has_numbers());
/// assert!(cache.ground().is_none());
/// ```
#[derive(Debug, Default)]
pub struct Cache {
    /// The last bucket of each key that was written to.
    buckets: HashMap<Vec<u8>, Entry, RandomState>,
    ground: Option<Ground>,
    /// The collection has no collation.
    readable: bool,
    naming: Naming,
    /// The server takes no numbered commands, or numbers cannot be counted.
    unnumbered: bool,
    /// The index on record ids existed.
    record_ids: bool,
    /// How often a look has found what writes depend on.
    looks: u64,
    newness: Newness,
}

/// Whether commands can name their collection by UUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Naming {
    #[default]
    Untried,
    /// The server has taken such a command.
    Taken,
    /// The server is older than MongoDB 6.0.
    Unknown,
}

#[derive(Debug)]
struct Entry {
    hint: BucketHint,
    /// How many more batches look before they write, because others write to this key too.
    looks: u8,
    /// How many such batches the next failure adds.
    doubt: u8,
}

impl Cache {
    /// Whether commands may be numbered.
    #[must_use]
    pub fn has_numbers(&self) -> bool {
        !self.unnumbered
    }

    /// The server takes no numbered commands, or numbers cannot be counted. Returns whether that is new.
    pub fn give_up_numbers(&mut self) -> bool {
        !std::mem::replace(&mut self.unnumbered, true)
    }

    /// What writes depend on, if it is known.
    #[must_use]
    pub fn ground(&self) -> Option<&Ground> {
        self.ground.as_ref()
    }

    /// The number of looks so far that have found what writes depend on.
    #[must_use]
    pub fn looks(&self) -> u64 {
        self.looks
    }

    /// The server has taken a command that names its collection by UUID.
    pub fn saw_naming_taken(&mut self) {
        self.naming = Naming::Taken;
    }

    /// The server does not know such commands.
    pub fn saw_naming_unknown(&mut self) {
        self.naming = Naming::Unknown;
    }

    pub(super) fn is_naming_unknown(&self) -> bool {
        self.naming == Naming::Unknown
    }

    /// Whether it is known if the server takes commands that name their collection by UUID.
    #[must_use]
    pub fn has_tried_naming(&self) -> bool {
        self.naming != Naming::Untried
    }

    /// Whether commands should name their collection by UUID.
    #[must_use]
    pub fn names_collections(&self, in_session: bool) -> bool {
        match self.naming {
            Naming::Taken => true,
            // A field that the server does not know would end a transaction.
            Naming::Untried => !in_session,
            Naming::Unknown => false,
        }
    }

    /// Whether the collection is known to have no collation, so that reads find what they look for.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.readable
    }

    /// The collection has no collation.
    pub fn saw_readable(&mut self) {
        self.readable = true;
    }

    /// The collection matches the model.
    pub(super) fn stand_on(&mut self, ground: Ground) {
        self.ground = Some(ground);
        self.looks = self.looks.wrapping_add(1);
        self.readable = true;
    }

    /// The collection is not this one, or has changed.
    pub(super) fn leave(&mut self, ground: Option<&Ground>) {
        self.ground.take_if(|current| Some(&*current) == ground);
        self.readable = false;
    }

    pub(super) fn has_record_ids(&self) -> bool {
        self.record_ids
    }

    pub(super) fn saw_record_ids(&mut self) {
        self.record_ids = true;
    }

    /// The collection is another one: everything learned about its contents is invalid.
    pub(super) fn forget_keys(&mut self) {
        self.buckets.clear();
        self.newness = Newness::default();
        self.record_ids = false;
    }

    /// Lets each chain use the bucket that took the last record of its key and window.
    pub(super) fn recall(&mut self, batch: &mut Batch, for_good: bool) {
        batch.newness = self.newness;
        let lone = batch.records() == 1;
        let source = batch.source().cloned();
        batch.recall(|chain| {
            // One read finds the open buckets of many keys, but only for one window.
            let anyway = !chain.has_open_index();
            let key = memory_key(chain, source.as_ref(), for_good);
            self.get(&key, lone, anyway)
        });
    }

    /// Remembers the buckets that took the last records; those that are `uncertain` are forgotten.
    pub(super) fn remember(&mut self, batch: &Batch, for_good: bool, uncertain: bool) {
        self.newness = batch.newness;
        let lone = batch.records() == 1;
        for chain in batch.chains() {
            let hint = chain.hint(lone).filter(|_| !uncertain);
            let in_vain = chain.recalled_in_vain();
            self.set(memory_key(chain, batch.source(), for_good), hint, in_vain);
        }
    }

    /// What is remembered, unless others are known to write to the key; an open bucket `anyway`.
    fn get(&mut self, key: &[u8], lone: bool, anyway: bool) -> Option<BucketHint> {
        let entry = self.buckets.get_mut(key)?;
        if entry.looks > 0 && !lone && (entry.hint.is_full() || !anyway) {
            entry.looks -= 1;
            return None;
        }
        Some(entry.hint.clone())
    }

    fn set(&mut self, key: Vec<u8>, hint: Option<BucketHint>, in_vain: bool) {
        if key.len() > MAX_KEY_BYTES {
            return;
        }
        let Some(hint) = hint else {
            self.buckets.remove(&key);
            return;
        };
        if self.buckets.len() >= MAX_KEYS && !self.buckets.contains_key(&key) {
            self.buckets.clear();
        }
        match self.buckets.entry(key) {
            hash_map::Entry::Vacant(vacant) => {
                let (looks, doubt) = (0, 0);
                vacant.insert(Entry { hint, looks, doubt });
            }
            hash_map::Entry::Occupied(mut occupied) => {
                let entry = occupied.get_mut();
                entry.hint = hint;
                if in_vain {
                    entry.doubt = (2 * entry.doubt + 1).min(MAX_LOOKS);
                    entry.looks = entry.doubt;
                } else if entry.looks == 0 {
                    entry.doubt /= 2;
                }
            }
        }
    }
}

/// A batch of a source uses only what a batch of the same source left: the position of the source and the
/// open bucket are true only together.
fn memory_key(chain: &Chain, source: Option<&Source>, for_good: bool) -> Vec<u8> {
    let mut key = chain.memory_key();
    if let Some(source) = source {
        key.extend_from_slice(source.path().as_bytes());
    }
    if !for_good {
        // No field name ends like this.
        key.push(0);
    }
    key
}
