//! What a handle has learnt of its server and its keys.
//!
//! Which bucket took the last record of a key makes a single insert one round trip. It is hearsay and
//! nothing depends on it: an append to a bucket that has filled up or gone away meanwhile changes
//! nothing, and the tail is read. On a bucket that was full the next one is built: so it is remembered
//! only once a majority has it, what was written with less is for such writes alone, and the server is
//! asked whether it is still there. A position of a source saves a look only where every record stands
//! behind it; that a record is a duplicate is always the server's word.

use std::{
    collections::{HashMap, hash_map},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicI64, Ordering::Relaxed},
    },
};

use bucket_core::{
    Record,
    write::{Batch, Chain, Recollection, Source},
};

use super::Writer;
use crate::footing::Footing;

/// Keys that are remembered; beyond that everything is forgotten, which costs each key one read.
const MAX_KEYS: usize = 10_000;

/// The most batches of a key in a row that look before they write.
const MAX_LOOKS: u8 = 31;

/// Longer keys, in bytes, are not remembered.
const MAX_KEY_BYTES: usize = 1_024;

/// What a handle and its clones have learnt.
#[derive(Debug, Default)]
pub(crate) struct Learnt {
    /// The last bucket of each key that was written to.
    buckets: Mutex<HashMap<Vec<u8>, Entry>>,
    /// The server takes no numbered commands.
    unnumbered: AtomicBool,
    /// The index on record ids was there.
    record_ids: AtomicBool,
    /// What the collection was like.
    pub(crate) footing: Footing,
    /// The longest span of time of a bucket, in milliseconds.
    longest: AtomicI64,
}

#[derive(Debug)]
struct Entry {
    last: Recollection,
    /// So many batches look before they write: others write to this key too.
    looks: u8,
    /// How many of them the next failure makes.
    doubt: u8,
}

impl Learnt {
    /// Whether the server is known to take no numbered commands, as one without a replica set.
    pub(super) fn unnumbered(&self) -> &AtomicBool {
        &self.unnumbered
    }

    /// The longest span of time of a bucket that a read has met, in milliseconds.
    pub(crate) fn longest(&self) -> i64 {
        self.longest.load(Relaxed)
    }

    pub(crate) fn saw_longest(&self, millis: i64) {
        self.longest.fetch_max(millis, Relaxed);
    }

    /// Whether the index on record ids was there.
    pub(super) fn has_record_ids(&self) -> bool {
        self.record_ids.load(Relaxed)
    }

    pub(super) fn saw_record_ids(&self) {
        self.record_ids.store(true, Relaxed);
    }

    /// The collection is another one: nothing counts any more that was learnt of what it held.
    pub(super) fn forget_keys(&self) {
        self.lock().clear();
        self.record_ids.store(false, Relaxed);
    }

    /// What is remembered, unless others are known to write to the key; an open bucket `anyway`.
    fn get(&self, key: &[u8], lone: bool, anyway: bool) -> Option<Recollection> {
        let mut buckets = self.lock();
        let entry = buckets.get_mut(key)?;
        if entry.looks > 0 && !lone && (entry.last.is_full() || !anyway) {
            entry.looks -= 1;
            return None;
        }
        Some(entry.last.clone())
    }

    fn set(&self, key: Vec<u8>, last: Option<Recollection>, in_vain: bool) {
        if key.len() > MAX_KEY_BYTES {
            return;
        }
        let mut buckets = self.lock();
        let Some(last) = last else {
            buckets.remove(&key);
            return;
        };
        if buckets.len() >= MAX_KEYS && !buckets.contains_key(&key) {
            buckets.clear();
        }
        match buckets.entry(key) {
            hash_map::Entry::Vacant(vacant) => {
                let (looks, doubt) = (0, 0);
                vacant.insert(Entry { last, looks, doubt });
            }
            hash_map::Entry::Occupied(mut occupied) => {
                let entry = occupied.get_mut();
                entry.last = last;
                if in_vain {
                    entry.doubt = (2 * entry.doubt + 1).min(MAX_LOOKS);
                    entry.looks = entry.doubt;
                } else if entry.looks == 0 {
                    entry.doubt /= 2;
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Vec<u8>, Entry>> {
        // A poisoned map is whole: its operations do not panic half-way.
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a batch of this source goes by is what a batch of this source has left: where the source has
/// got to and which bucket is open are true together or not at all.
fn memory_key(chain: &Chain, source: Option<&Source>, for_good: bool) -> Vec<u8> {
    let mut key = chain.memory_key();
    if let Some(source) = source {
        key.extend_from_slice(source.path().as_bytes());
    }
    if !for_good {
        // No name of a field ends so.
        key.push(0);
    }
    key
}

impl<T: Record> Writer<'_, T> {
    /// Lets each chain go by the bucket that took the last record of its key and window.
    pub(super) fn recall(&mut self, batch: &mut Batch<T>) {
        let lone = batch.records() == 1;
        let learnt = self.buckets.learnt();
        let source = batch.source().cloned();
        let for_good = self.commitment.is_for_good();
        batch.recall(|chain| {
            // One read looks for the open buckets of many keys, but for one window.
            let anyway = !chain.has_open_index();
            let key = memory_key(chain, source.as_ref(), for_good);
            learnt.get(&key, lone, anyway)
        });
    }

    /// Remembers the buckets that took the last records.
    pub(super) fn remember(&self, batch: &Batch<T>) {
        if self.session.is_some() {
            return;
        }
        let lone = batch.records() == 1;
        for chain in batch.chains() {
            let last = chain.recollection(lone);
            let last = last.filter(|_| !self.is_uncertain);
            let in_vain = chain.recalled_in_vain();
            let key = memory_key(chain, batch.source(), self.commitment.is_for_good());
            self.buckets.learnt().set(key, last, in_vain);
        }
    }
}
