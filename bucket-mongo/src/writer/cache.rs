//! What a handle and its clones have learnt about their server, collection and keys.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicI64, Ordering::Relaxed},
};

use bucket_core::{BucketSpec, write};

use crate::trace;

/// What the calls of a handle share.
#[derive(Debug, Default)]
pub(crate) struct SharedCache {
    shared: Mutex<write::Cache>,
    /// Whether the warning that the collection cannot be listed was logged.
    is_warned: AtomicBool,
    /// The longest bucket span, in milliseconds.
    longest: AtomicI64,
}

impl SharedCache {
    pub(crate) fn lock(&self) -> MutexGuard<'_, write::Cache> {
        // A poisoned state is complete: its operations do not panic half-way.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The longest bucket span that a read has met, in milliseconds.
    pub(crate) fn longest(&self) -> i64 {
        self.longest.load(Relaxed)
    }

    pub(crate) fn saw_longest(&self, millis: i64) {
        self.longest.fetch_max(millis, Relaxed);
    }

    /// Commands get no numbers from now on; logs the reason once.
    pub(super) fn give_up_numbers(&self, why: &str) {
        if self.lock().give_up_numbers() {
            tracing::warn!(
                target: trace::WRITE,
                "{why}: a write that loses its reply is not sent again, and its outcome is unknown"
            );
        }
    }

    /// Logs once that the collection cannot be listed.
    pub(super) fn warn_of_no_look(&self, spec: &BucketSpec) {
        if !self.is_warned.swap(true, Relaxed) {
            tracing::warn!(
                target: trace::WRITE,
                collection = spec.collection(),
                "not permitted to list the collection and its indexes: grant `listCollections` and \
                 `listIndexes`, so that the library can check them against the model"
            );
        }
    }
}
