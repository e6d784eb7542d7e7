//! The handle to the buckets of a record type, and its settings.

mod bucketed;

use std::{fmt, marker::PhantomData, sync::Arc, time::Duration};

use bucket_core::{BucketSpec, Limits, Record};
use mongodb::{Collection, Database, options::WriteConcern};

pub use self::bucketed::Bucketed;
#[cfg(feature = "seal")]
use crate::Archive;
use crate::{store::Store, writer::cache::SharedCache};

/// The buckets of `T` in one database.
///
/// Cheap to clone. It holds the driver's handle, the write concern, and for at most 10,000 keys the bucket
/// that took the last record. Keep one and share it instead of making a new one for each call.
///
/// Every operation returns a builder that does nothing until it is awaited.
///
/// ```no_run
/// # use bucket_mongo::{Bucketed, Buckets, Result};
/// async fn pages<T: Bucketed>(buckets: &Buckets<T>, key: T::Key) -> Result<u64> {
///     buckets.page_count(key).await
/// }
/// ```
pub struct Buckets<T: Record> {
    store: Store,
    limits: Option<LimitsOf<T>>,
    /// In milliseconds.
    longest: i64,
    record: PhantomData<fn() -> T>,
}

/// Returns the limits of a key.
type LimitsOf<T> = Arc<dyn Fn(&<T as Record>::Key) -> Limits + Send + Sync>;

impl<T: Record> Buckets<T> {
    pub(crate) fn new(database: &Database) -> Self {
        Self {
            store: Store::new(T::SPEC, database),
            limits: None,
            longest: 0,
            record: PhantomData,
        }
    }

    /// Sets the write concern. The default is `{w: "majority", j: true}`.
    ///
    /// Anything weaker can lose acknowledged records: with `w: 1`, a server that is killed loses its most
    /// recent writes. Writes refuse `w: 0`, because the server does not reply to them.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, mongodb::options::WriteConcern};
    /// # fn f<T: Bucketed>(buckets: Buckets<T>) -> Buckets<T> {
    /// buckets.with_write_concern(WriteConcern::builder().w(Some(1.into())).journal(true).build())
    /// # }
    /// ```
    #[must_use]
    pub fn with_write_concern(mut self, write_concern: WriteConcern) -> Self {
        self.store.set_write_concern(write_concern);
        self
    }

    /// Sets how long a write is retried: 30 seconds if not set, 20 minutes at most.
    ///
    /// Until the deadline, a command that gets no reply or a temporary error is sent again unchanged; the
    /// server applies it once. An `insert_many` of more than 262,144 records has this time for each 262,144
    /// of them. A record whose outcome is open at the deadline ends with a typed error:
    /// [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown) if it may be stored, another one if it is not.
    /// The server learns the remaining time with each command. A command that gets no reply at all is given
    /// up a quarter of a second after the deadline, together with its connection. The driver's own time
    /// limits (server selection, connecting) do not change.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets};
    /// # fn f<T: Bucketed>(buckets: Buckets<T>) -> Buckets<T> {
    /// buckets.with_deadline(std::time::Duration::from_secs(5))
    /// # }
    /// ```
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.store.set_deadline(deadline);
        self
    }

    /// Sets limits by key: for a key's records, what `limits` returns replaces the model's window, capacity
    /// or longest duration.
    ///
    /// Stored buckets keep the limits that they were made with. A lower capacity closes buckets that already
    /// hold that many records; a higher one lets the newest bucket continue; another window starts buckets of
    /// its own. Invalid limits (a window of zero, or a capacity in the manual's form, where the capacity is
    /// part of an index) are a typed error for the record, before anything is sent.
    ///
    /// `limits` is called for each record: it should be fast, and return the same limits for the same key.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets};
    /// use bucket_mongo::{Limits, Window};
    ///
    /// # fn f<T: Bucketed>(buckets: Buckets<T>) -> Buckets<T> {
    /// buckets.with_limits(|_key| Limits::new().window(Window::minutes(1)).capacity(1_000))
    /// # }
    /// ```
    #[must_use]
    pub fn with_limits(
        mut self,
        limits: impl Fn(&T::Key) -> Limits + Send + Sync + 'static,
    ) -> Self {
        self.limits = Some(Arc::new(limits));
        self.store.leave_group();
        self
    }

    /// Says where the items of archived buckets are: those that [`archive_to`](Self::archive_to) has moved there.
    ///
    /// Every read then gives what is archived, too, each record once, also while buckets move: ranges, pages, records by
    /// token, the newest ones, statistics, rollups, [`verify`](Self::verify). It sends nothing to the archive unless it
    /// needs archived items: statistics of whole buckets, keys and counts do not. [`delete_key`](Self::delete_key) reaches
    /// the archive. Edits do not: [`restore_from`](Self::restore_from) it first.
    ///
    /// Reads of the archive have the settings of its handle and the deadline of the call. They are outside of its session.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, mongodb::Database};
    /// # fn f<T: Bucketed>(database: &Database, archive: &Database) -> Buckets<T> {
    /// T::buckets(database).with_archive(archive)
    /// # }
    /// ```
    #[cfg(feature = "seal")]
    #[must_use]
    pub fn with_archive(mut self, archive: impl Into<Archive>) -> Self {
        self.store.set_archive(archive.into().place(T::SPEC));
        self
    }

    /// Sets the longest bucket span that reads must consider.
    ///
    /// A read of a time range also looks for buckets that begin before the range and reach into it. It looks
    /// back as far as buckets are long: the model's window or longest duration, or what
    /// [`with_limits`](Self::with_limits) returns for the key. If buckets were longer in the past and are
    /// still stored, set their length here. A handle that meets a longer bucket learns its length and reads
    /// again. A stream that has already given records cannot do that, and ends with
    /// [`LongerBucket`](crate::ErrorKind::LongerBucket). The handle trusts the span of a bucket only if it is
    /// a valid window; otherwise it relies on the times of the bucket's records. So one damaged date does not
    /// make reads look at a year of buckets.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets};
    /// # fn f<T: Bucketed>(buckets: Buckets<T>) -> Buckets<T> {
    /// buckets.with_longest_span(std::time::Duration::from_secs(24 * 3_600)) // `window = "day"` once
    /// # }
    /// ```
    #[must_use]
    pub fn with_longest_span(mut self, span: Duration) -> Self {
        self.longest = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        self
    }

    /// The longest bucket span that was set or that the handle has met, in milliseconds.
    pub(crate) fn longest(&self) -> i64 {
        self.longest.max(self.cache().longest())
    }

    /// The longest bucket span that was set, in milliseconds; 0 if none was.
    pub(crate) fn told_longest(&self) -> i64 {
        self.longest
    }

    pub(crate) fn saw_longest(&self, millis: i64) {
        self.cache().saw_longest(millis);
    }

    /// The limits of a record's key; `None` without limits by key.
    pub(crate) fn limits(&self, record: &T) -> Option<Limits> {
        let limits = self.limits.as_ref()?;
        Some(limits(&record.key()))
    }

    /// The limits of a key; `None` without limits by key.
    pub(crate) fn limits_of(&self, key: &T::Key) -> Option<Limits> {
        self.limits.as_ref().map(|limits| limits(key))
    }

    /// Whether there are limits by key.
    pub(crate) fn has_limits(&self) -> bool {
        self.limits.is_some()
    }

    /// The database of the collection.
    #[must_use]
    pub fn database(&self) -> &Database {
        self.store.database()
    }

    /// The driver's handle to the collection, for queries of your own.
    ///
    /// The typed bucket document works with it: `collection::<TradeBucket>()`.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets};
    /// # async fn f<T: Bucketed>(buckets: Buckets<T>) -> bucket_mongo::mongodb::error::Result<u64> {
    /// use bucket_mongo::bson::Document;
    ///
    /// buckets.collection::<Document>().estimated_document_count().await
    /// # }
    /// ```
    #[must_use]
    pub fn collection<D: Send + Sync>(&self) -> Collection<D> {
        self.database().collection(self.spec().collection())
    }

    /// The model.
    #[must_use]
    pub fn spec(&self) -> &'static BucketSpec {
        T::SPEC
    }

    /// The part of the handle that does not depend on the record type.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn cache(&self) -> &Arc<SharedCache> {
        self.store.cache()
    }
}

impl<T: Record> Clone for Buckets<T> {
    fn clone(&self) -> Self {
        Self {
            store: self.store.clone(),
            limits: self.limits.clone(),
            longest: self.longest,
            record: PhantomData,
        }
    }
}

impl<T: Record> fmt::Debug for Buckets<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buckets")
            .field("record", &T::SPEC.record())
            .field("database", &self.database().name())
            .field("collection", &T::SPEC.collection())
            .finish_non_exhaustive()
    }
}
