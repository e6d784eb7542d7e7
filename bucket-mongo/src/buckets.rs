//! The handle: where the buckets of a record type live, and every operation on them.

mod bucketed;

use std::{fmt, marker::PhantomData, sync::Arc, time::Duration};

use bucket_core::{BucketSpec, Limits, Record};
use mongodb::{Collection, Database, options::WriteConcern};

pub use self::bucketed::Bucketed;
use crate::{store::Store, writer::learnt::Learnt};

/// The buckets of `T` in one database.
///
/// Cheap to clone: it holds the driver's handle, the write concern, and for at most 10,000 keys the
/// bucket that took the last record, so keep it and share it instead of making a new one for each
/// call.
///
/// Every method gives a builder that does nothing until it is awaited.
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

/// The limits of each key.
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

    /// The same handle with this write concern instead of the default, `{w: "majority", j: true}`.
    ///
    /// Anything weaker can lose acknowledged records: with `w: 1`, a server that is killed takes
    /// the last moments with it. `w: 0` is refused when writing: it gives no replies to go by.
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

    /// The same handle whose writes go on being tried for this long (30 seconds if not set, 20
    /// minutes at the most).
    ///
    /// A command that gets no reply, or one that only says that the server cannot take it just now,
    /// is sent again until then, as it is: the server applies it once. An `insert_many` of more than
    /// 262,144 records has as long for each 262,144 of them. What is not settled by then ends with a
    /// typed error: [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown) if it may be stored,
    /// another one if it is not. The server is told how much time is left, and a command that it does
    /// not answer at all is given up a quarter of a second after the deadline, with its connection. The
    /// driver's own time limits (the choice of a server, connecting) stay what they are.
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

    /// The same handle with limits by key: what `limits` gives for a key counts for its records in
    /// place of the model's window, capacity or longest duration.
    ///
    /// Stored buckets keep what they were made with. A lower capacity closes those that hold as
    /// many already, a higher one lets the newest go on; another window begins buckets of its own.
    /// Limits that make no sense (a window of zero, a capacity in the manual's form, where it is
    /// part of an index) are a typed error for the record, before anything is sent.
    ///
    /// It is called for each record: it should not take long, and give the same for the same key.
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

    /// The same handle whose reads reckon with buckets that cover this span of time.
    ///
    /// A read of a span of time looks for buckets that begin before it and reach into it, as far back
    /// as buckets are long: the model's window or longest duration, or what
    /// [`with_limits`](Self::with_limits) gives for the key. Where they were longer once, and buckets
    /// of that time are still stored, say so here. A handle that meets a longer bucket learns it and reads
    /// again, or says so with [`LongerBucket`](crate::ErrorKind::LongerBucket) where a stream has given
    /// records already. It believes a bucket that covers a window that there can be; of another one only
    /// what its records cover, so that one damaged date doesn't make reads look at a year of buckets.
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

    /// The longest span of a bucket that the handle was told of or has met, in milliseconds.
    pub(crate) fn longest(&self) -> i64 {
        self.longest.max(self.learnt().longest())
    }

    /// The longest span of a bucket that the handle was told of, in milliseconds; 0 if it was not.
    pub(crate) fn told_longest(&self) -> i64 {
        self.longest
    }

    pub(crate) fn saw_longest(&self, millis: i64) {
        self.learnt().saw_longest(millis);
    }

    /// The limits of a record's key, where they are not the model's.
    pub(crate) fn limits(&self, record: &T) -> Option<Limits> {
        let limits = self.limits.as_ref()?;
        Some(limits(&record.key()))
    }

    /// The limits of a key, where they are not the model's.
    pub(crate) fn limits_of(&self, key: &T::Key) -> Option<Limits> {
        self.limits.as_ref().map(|limits| limits(key))
    }

    /// Whether there are limits by key.
    pub(crate) fn has_limits(&self) -> bool {
        self.limits.is_some()
    }

    /// The database.
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

    /// What is the same for all models.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn learnt(&self) -> &Arc<Learnt> {
        self.store.learnt()
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
