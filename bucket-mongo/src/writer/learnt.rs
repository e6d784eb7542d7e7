//! What a handle has learnt of its server and its keys.
//!
//! Which bucket took the last record of a key makes a single insert one round trip. It is hearsay and nothing depends on it: an append to a bucket that has filled up or gone away
//! meanwhile changes nothing, and the tail is read.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError, atomic::AtomicBool},
};

use bucket_core::{Record, write::Batch};

use super::Writer;

/// Keys that are remembered; beyond that everything is forgotten, which costs each key one read.
const MAX_KEYS: usize = 10_000;

/// Longer keys, in bytes, are not remembered.
const MAX_KEY_BYTES: usize = 1_024;

/// What a handle and its clones have learnt.
#[derive(Debug, Default)]
pub(crate) struct Learnt {
    /// The last bucket of each key that was written to.
    buckets: Mutex<HashMap<Vec<u8>, String>>,
    /// The server takes no numbered commands.
    unnumbered: AtomicBool,
}

impl Learnt {
    /// Whether the server is known to take no numbered commands, as one without a replica set.
    pub(super) fn unnumbered(&self) -> &AtomicBool {
        &self.unnumbered
    }

    fn get(&self, key: &[u8]) -> Option<String> {
        // A poisoned map is whole: its operations do not panic half-way.
        let buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        buckets.get(key).cloned()
    }

    fn set(&self, key: &[u8], bucket: Option<&str>) {
        if key.len() > MAX_KEY_BYTES {
            return;
        }
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        match (bucket, buckets.get_mut(key)) {
            (Some(bucket), Some(known)) if known == bucket => {}
            (Some(bucket), Some(known)) => bucket.clone_into(known),
            (Some(bucket), None) => {
                if buckets.len() >= MAX_KEYS {
                    buckets.clear();
                }
                buckets.insert(key.to_owned(), bucket.to_owned());
            }
            (None, Some(_)) => {
                buckets.remove(key);
            }
            (None, None) => {}
        }
    }
}

impl<T: Record> Writer<'_, T> {
    /// Lets each chain try the bucket that took the last record of its key and window. In the
    /// forms where such a try may miss without a trace that is for a lone record.
    pub(super) fn guess_tail(&self, batch: &mut Batch<T>) {
        let learnt = self.buckets.learnt();
        batch.guess(|chain| learnt.get(&chain.memory_key()));
    }

    /// Remembers the buckets that took the last records.
    pub(super) fn remember_tail(&self, batch: &Batch<T>) {
        if self.session.is_some() {
            return;
        }
        let lone = batch.records() == 1;
        for chain in batch.chains() {
            if chain.is_worth_remembering(lone) {
                let key = chain.memory_key();
                self.buckets.learnt().set(&key, chain.last_bucket());
            }
        }
    }
}
