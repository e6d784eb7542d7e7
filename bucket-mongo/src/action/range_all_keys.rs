//! `range_all_keys`: the records of every key in a time range.

use std::{
    fmt,
    pin::Pin,
    task::{self, Poll, ready},
    vec,
};

use bucket_core::{IntoTimeRange, Record, TimeRange, bucket, read};
use futures_core::Stream;
use futures_util::StreamExt;
use mongodb::{
    Cursor,
    bson::{DateTime, RawDocumentBuf},
};
use tracing::Instrument;

use super::{ActionFuture, run_plan};
use crate::{Buckets, Error, ErrorKind, Result, error::Context, trace};

impl<T: Record> Buckets<T> {
    /// Streams the records of every key in a time range: bucket by bucket, in the order in which the windows
    /// end. Inside a bucket they are in time order, and records of the same time in order of arrival.
    ///
    /// It needs a model with windows. In the other forms no index bounds the times of a bucket's records
    /// across keys, so the call is refused instead of reading the whole collection.
    ///
    /// With limits by key it considers windows of up to 366 days. The server then steps over the ends of all
    /// windows of the year after the range, unless [`with_longest_span`](Self::with_longest_span) sets how
    /// long windows are.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if the range ends before it starts or the model has no windows; errors
    /// of the server and of the connection. For a document that is not a bucket of the model, the stream
    /// gives [`ErrorKind::Damaged`] in its place and continues after it.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// use bucket_mongo::bson::DateTime;
    /// use futures_util::TryStreamExt;
    ///
    /// async fn between<T: Bucketed>(buckets: &Buckets<T>, from: DateTime, to: DateTime) -> Result<Vec<T>> {
    ///     buckets.range_all_keys(from..to).await?.try_collect().await
    /// }
    /// ```
    pub fn range_all_keys(&self, range: impl IntoTimeRange) -> RangeAllKeysQuery<'_, T> {
        RangeAllKeysQuery {
            buckets: self,
            range: range.into_time_range(),
        }
    }
}

/// A read of a time range of all keys; see [`Buckets::range_all_keys`].
#[must_use = "nothing is read until this is awaited"]
#[derive(Debug)]
pub struct RangeAllKeysQuery<'a, T: Record> {
    buckets: &'a Buckets<T>,
    range: TimeRange,
}

/// A stream over the records of every key in a span of time; see [`Buckets::range_all_keys`].
#[must_use = "streams do nothing unless polled"]
pub struct RangeAllKeysStream<T: Record> {
    /// `None` for an empty range.
    cursor: Option<Cursor<RawDocumentBuf>>,
    bucket: vec::IntoIter<T>,
    range: TimeRange,
    context: Context,
}

impl<T: Record> fmt::Debug for RangeAllKeysStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RangeAllKeysStream")
            .field("collection", &T::SPEC.collection())
            .field("range", &self.range)
            .finish_non_exhaustive()
    }
}

impl<T: Record> RangeAllKeysQuery<'_, T> {
    fn longest(&self, context: &Context) -> Result<i64> {
        let own = read::longest(T::SPEC, None)
            .map_err(|error| Error::new(ErrorKind::Encode(error), context))?;
        Ok(match self.buckets.told_longest() {
            // The spans of one key's buckets say nothing about other keys.
            0 if self.buckets.has_limits() => read::LONGEST_WINDOW,
            _ => own.max(self.buckets.longest()),
        })
    }

    async fn run(self) -> Result<RangeAllKeysStream<T>> {
        let context = Context::of_all::<T>("range_all_keys");
        let invalid = |message: &str| {
            let message = message.to_owned();
            Error::new(ErrorKind::InvalidArgument { message }, &context)
        };
        if self.range.is_reversed() {
            return Err(invalid("the time range ends before it starts"));
        }
        let longest = self.longest(&context)?;
        let shown = read::live(T::SPEC, DateTime::now()).range();
        let range = self.range.and(shown);
        let Some(plan) = read::across_keys(T::SPEC, range, longest) else {
            return Err(invalid(
                "the model has no windows, so no index bounds the times of the records of all keys: \
                 read key by key",
            ));
        };
        let cursor = if range.is_empty() {
            None
        } else {
            let collection = self.buckets.store().readable(&context).await?;
            let hint = plan.hint.clone();
            let cursor = run_plan::many(&collection, plan).await;
            Some(cursor.map_err(|error| Error::read_by(&hint, error, &context))?)
        };
        Ok(RangeAllKeysStream {
            cursor,
            bucket: Vec::new().into_iter(),
            range,
            context,
        })
    }
}

impl<T: Record> RangeAllKeysStream<T> {
    /// The records of a bucket inside the range, in time order.
    fn records(&self, stored: &RawDocumentBuf) -> Result<Vec<T>> {
        let bucket = bucket::decode_within::<T>(stored, self.range)
            .map_err(|damage| Error::new(ErrorKind::Damaged(damage), &self.context))?;
        let mut records = bucket::assemble_records(bucket);
        records.sort_by_key(Record::time);
        Ok(records)
    }
}

// No field is ever pinned.
impl<T: Record> Unpin for RangeAllKeysStream<T> {}

impl<T: Record> Stream for RangeAllKeysStream<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(record) = self.bucket.next() {
                return Poll::Ready(Some(Ok(record)));
            }
            let Some(cursor) = &mut self.cursor else {
                return Poll::Ready(None);
            };
            let found = match ready!(cursor.poll_next_unpin(cx)) {
                None => return Poll::Ready(None),
                Some(Ok(stored)) => self.records(&stored),
                Some(Err(error)) => {
                    let hint = T::SPEC.span_index_name().unwrap_or_default();
                    Err(Error::read_by(&hint, error, &self.context))
                }
            };
            match found {
                Ok(records) => self.bucket = records.into_iter(),
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
        }
    }
}

impl<'a, T: Record> IntoFuture for RangeAllKeysQuery<'a, T> {
    type Output = Result<RangeAllKeysStream<T>>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span = tracing::debug_span!(target: trace::READ, "range_all_keys", collection = T::SPEC.collection());
        Box::pin(self.run().instrument(span))
    }
}
