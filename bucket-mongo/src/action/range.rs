//! `range`: the records of a time range.

use bucket_core::{AttributeFilter, FieldPath, IntoTimeRange, Record, Referenced, read::WalkOrder};
use mongodb::bson::Document;
use serde::de::DeserializeOwned;
use tracing::Instrument;

use super::{ActionFuture, RecordStream};
use crate::{Buckets, Result, read::Request, read_setters::read_setters, trace};

impl<T: Record> Buckets<T> {
    /// Reads the records of a key in a time range, in time order. The range includes its start and excludes
    /// its end (`from..to`; `from..`, `..to` and `..` are ranges too).
    ///
    /// `.await` returns a `Vec`, [`.stream()`](RangeQuery::stream) a stream. Records of the same time are in
    /// the order of their buckets, and inside a bucket in order of arrival.
    ///
    /// In models with a window or a longest duration, the server looks only at buckets of the range, and a
    /// stream holds only buckets that overlap. In the others, no index bounds the times of a bucket: the
    /// server looks into all buckets of the key, and a stream starts once all are read.
    ///
    /// Settings: `newest_first`, `matching`, `select`, `session`, `deadline`, `max_time`, `read_concern`, `read_preference`.
    ///
    /// # Errors
    ///
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the range ends before it starts, or for a filter
    /// that is not one on records,
    /// [`Damaged`](crate::ErrorKind::Damaged) if a document is not a bucket of the model. A stream that has
    /// given records ends with [`LongerBucket`](crate::ErrorKind::LongerBucket) if it meets a bucket that is
    /// longer than any known one.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result, bson::DateTime};
    /// async fn last_day<T: Bucketed>(buckets: &Buckets<T>, key: T::Key) -> Result<Vec<T>> {
    ///     let day_ago = DateTime::from_millis(DateTime::now().timestamp_millis() - 86_400_000);
    ///     buckets.range(key, day_ago..).await
    /// }
    /// ```
    pub fn range(&self, key: impl Into<T::Key>, range: impl IntoTimeRange) -> RangeQuery<'_, T> {
        RangeQuery::new(self, vec![key.into()], range)
    }

    /// Reads the records of several keys in a time range, all in one time order; see [`range`](Self::range).
    /// A key that is passed twice counts once.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result, bson::DateTime};
    /// async fn of_two<T: Bucketed>(buckets: &Buckets<T>, one: T::Key, other: T::Key) -> Result<Vec<T>> {
    ///     buckets.range_many([one, other], DateTime::from_millis(0)..DateTime::now()).await
    /// }
    /// ```
    pub fn range_many<K: Into<T::Key>>(
        &self,
        keys: impl IntoIterator<Item = K>,
        range: impl IntoTimeRange,
    ) -> RangeQuery<'_, T> {
        let mut seen = std::collections::HashSet::new();
        let keys = keys.into_iter().map(Into::into);
        let keys = keys
            .filter(|key: &T::Key| seen.insert(key.clone()))
            .collect();
        RangeQuery::new(self, keys, range)
    }
}

/// A read of a time range; see [`Buckets::range`].
#[must_use = "nothing is read until this is awaited"]
#[derive(Debug)]
pub struct RangeQuery<'a, T: Record, R = T> {
    request: Request<'a, T, R>,
}

impl<'a, T: Record> RangeQuery<'a, T> {
    fn new(buckets: &'a Buckets<T>, keys: Vec<T::Key>, range: impl IntoTimeRange) -> Self {
        let mut request = Request::new(buckets, "range", keys, WalkOrder::Time);
        request.range = range.into_time_range();
        Self { request }
    }

    /// Gives a reference with each record; see [`RecordsQuery::with_refs`](super::RecordsQuery::with_refs).
    pub fn with_refs(self) -> RangeQuery<'a, T, Referenced<T>> {
        RangeQuery {
            request: self.request.with_refs(),
        }
    }

    /// Reads only these fields of each item, as `P`; see
    /// [`RecordsQuery::select`](super::RecordsQuery::select).
    pub fn select<P: DeserializeOwned + Send + 'a>(
        self,
        fields: impl IntoIterator<Item = FieldPath>,
    ) -> RangeQuery<'a, T, P> {
        RangeQuery {
            request: self.request.select(fields.into_iter().collect()),
        }
    }
}

impl<'a, T: Record, R: Send + 'a> RangeQuery<'a, T, R> {
    /// Starts with the newest record instead of the oldest.
    pub fn newest_first(mut self) -> Self {
        self.request.newest_first = true;
        self
    }

    /// Reads only records that meet the filter; see [`RecordsQuery::matching`](super::RecordsQuery::matching).
    pub fn matching(mut self, filter: impl Into<AttributeFilter>) -> Self {
        self.request.add_filter(filter.into());
        self
    }

    read_setters!(request.options);

    /// Returns the stages of an aggregation, for tools that take a pipeline. It gives the buckets of the
    /// range, each with its key fields and its items in the range (with [`select`](Self::select), those
    /// fields of them). This is the bucket tutorial's `queryReadings` with bounds on the index and without
    /// its `$unwind`.
    ///
    /// # Errors
    ///
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the range ends before it starts, or with
    /// [`matching`](Self::matching): add a `$match` after an `$unwind` instead.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, bson::{DateTime, Document}};
    /// # async fn f<T: Bucketed>(buckets: Buckets<T>, key: T::Key) -> Result<(), Box<dyn std::error::Error>> {
    /// let pipeline = buckets.range(key, DateTime::from_millis(0)..DateTime::now()).pipeline()?;
    /// let cursor = buckets.collection::<Document>().aggregate(pipeline).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn pipeline(&self) -> Result<Vec<Document>> {
        if self.request.is_filtered() {
            let message = "a pipeline gives whole buckets: add a `$match` after an `$unwind` instead of \
                           `matching`";
            return Err(self.request.invalid(message));
        }
        Ok(self.request.walk()?.pipeline())
    }

    /// Streams the records from one cursor, which is opened when the stream is first polled.
    pub fn stream(self) -> RecordStream<'a, R> {
        match self.request.walk() {
            Err(error) => RecordStream::failed(error),
            Ok(walk) => RecordStream::new(self.request.chunks(walk, None), None),
        }
    }
}

impl<'a, T: Record, R: Send + 'a> IntoFuture for RangeQuery<'a, T, R> {
    type Output = Result<Vec<R>>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span =
            tracing::debug_span!(target: trace::READ, "range", collection = T::SPEC.collection());
        let all = async {
            let walk = self.request.walk()?;
            self.request.all(walk, None).await
        };
        Box::pin(all.instrument(span))
    }
}
