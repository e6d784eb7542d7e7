//! What a handle and its clones have learned about their server, collection and keys.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicI64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use bucket_core::{
    BucketSpec,
    write::{self, Ground, Look},
};
use mongodb::bson::Uuid;

use crate::trace;

/// What the calls of a handle share.
#[derive(Debug, Default)]
pub(crate) struct SharedCache {
    shared: Mutex<write::Cache>,
    /// Whether the warning that the collection's kind is unknown was logged.
    is_warned_of_kind: AtomicBool,
    /// Whether the warning that its indexes are unknown was logged.
    is_warned_of_indexes: AtomicBool,
    /// Whether the server reads snapshots.
    has_moments: AtomicBool,
    /// The longest bucket span, in milliseconds.
    longest: AtomicI64,
    /// The UUID of the collection that the last look of a read has met.
    collection: Mutex<Option<Uuid>>,
    /// When the call began that has last looked at what writes depend on and found it; `None` if the next one is to.
    looked: Mutex<Option<Instant>>,
    /// When an edit has last found that the collection is not another model's.
    is_own: Mutex<Option<Instant>>,
}

/// How long writes rely on what a look has found. An index that goes stops the statements that name it, but not all that a
/// model needs is named.
const RELIES_FOR: Duration = Duration::from_secs(30);

fn is_recent(looked: &Mutex<Option<Instant>>) -> bool {
    let looked = looked.lock().unwrap_or_else(PoisonError::into_inner);
    looked.is_some_and(|at| at.elapsed() < RELIES_FOR)
}

impl SharedCache {
    pub(crate) fn lock(&self) -> MutexGuard<'_, write::Cache> {
        // A poisoned state is complete: its operations do not panic half-way.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the server is known to read snapshots.
    pub(crate) fn has_moments(&self) -> bool {
        self.has_moments.load(Relaxed)
    }

    pub(crate) fn saw_moments(&self) {
        self.has_moments.store(true, Relaxed);
    }

    /// Whether a call that begins now looks again. All do until one of them has found what it looked for: a look can fail, and
    /// its call can be dropped.
    pub(super) fn is_due(&self) -> bool {
        !is_recent(&self.looked)
    }

    /// A call that began then has found what writes depend on.
    pub(super) fn looked(&self, begun: Instant) {
        *self.looked.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun);
    }

    /// What writes depend on may have changed: the next one looks again.
    pub(crate) fn look_again(&self) {
        *self.looked.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Whether an edit relies on what another one, or a write, has found lately: that the collection is not another model's.
    pub(crate) fn is_own(&self) -> bool {
        is_recent(&self.looked) || is_recent(&self.is_own)
    }

    pub(crate) fn saw_own(&self, begun: Instant) {
        *self.is_own.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun);
    }

    /// The longest bucket span that a read has met, in milliseconds.
    pub(crate) fn longest(&self) -> i64 {
        self.longest.load(Relaxed)
    }

    /// The UUID of the collection, as far as reads or writes have looked at it. It may be out of date.
    pub(crate) fn seen_collection(&self) -> Option<Uuid> {
        let seen = self.collection.lock();
        let seen = *seen.unwrap_or_else(PoisonError::into_inner);
        seen.or_else(|| match self.lock().ground() {
            Some(Ground::Collection(uuid)) => Some(*uuid),
            _ => None,
        })
    }

    pub(crate) fn saw_collection(&self, uuid: Option<Uuid>) {
        let seen = self.collection.lock();
        *seen.unwrap_or_else(PoisonError::into_inner) = uuid;
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

    /// Says once what is not known of the collection.
    pub(super) fn warn_of_no_look(&self, look: Look, spec: &BucketSpec) {
        let (is_warned, privilege, what) = match look {
            Look::Collection => (
                &self.is_warned_of_kind,
                "listCollections",
                "whether it is a capped collection",
            ),
            Look::Indexes | Look::PlainIndexes => (
                &self.is_warned_of_indexes,
                "listIndexes",
                "whether its indexes are as the model needs them",
            ),
        };
        if !is_warned.swap(true, Relaxed) {
            tracing::warn!(
                target: trace::WRITE,
                collection = spec.collection(),
                "there is no privilege `{privilege}`: {what} is not known"
            );
        }
    }
}
