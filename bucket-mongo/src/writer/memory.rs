//! Which bucket took the last record of a key: what makes a single insert one round trip.
//!
//! It is hearsay and nothing depends on it: an append to a bucket that has filled up or gone away
//! meanwhile changes nothing, and the tail is read.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use bucket_core::{Record, write::Batch};

use super::Writer;

/// Keys that are remembered; beyond that everything is forgotten, which costs each key one read.
const MAX_KEYS: usize = 10_000;

/// Longer keys, in bytes, are not remembered.
const MAX_KEY_BYTES: usize = 1_024;

/// The last bucket of each key that this handle and its clones have written to.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    buckets: Mutex<HashMap<Vec<u8>, String>>,
}

impl Memory {
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
    /// Lets a lone record try the bucket that took the last one of its key.
    pub(super) fn guess_tail(&self, batch: &mut Batch<T>) {
        if let ([chain], 1) = (batch.chains(), batch.records())
            && let Some(bucket) = self.buckets.memory().get(chain.key())
        {
            batch.guess(bucket);
        }
    }

    /// Remembers the bucket that took a lone record.
    pub(super) fn remember_tail(&self, batch: &Batch<T>) {
        if let ([chain], 1, None) = (batch.chains(), batch.records(), &self.session) {
            self.buckets.memory().set(chain.key(), chain.last_bucket());
        }
    }
}
