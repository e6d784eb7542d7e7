//! `range_all_keys`: the records of every key in a time range.

use std::fmt;

use bucket_core::{
    DamagedBucket, IntoTimeRange, Record, Referenced, TimeRange, bucket,
    read::{self, FindPlan, Live},
};
use futures_util::{TryStreamExt, stream};
use mongodb::bson::{DateTime, RawDocument};
use tracing::Instrument;

use super::{ActionFuture, RecordStream};
use crate::{
    Buckets, Error, ErrorKind, Result,
    error::{Context, ReadFault},
    read::{ReadOptions, Rows, each},
    read_setters::read_setters,
    trace,
};

impl<T: Record> Buckets<T> {
    /// The records of every key in a time range: bucket by bucket, in the order in which the windows end.
    /// Inside a bucket they are in time order, and records of the same time in order of arrival.
    ///
    /// `.await` gives a `Vec`, [`.stream()`](RangeAllKeysQuery::stream) a stream.
    ///
    /// It needs a model with windows. In the other forms no index bounds the times of a bucket's records
    /// across keys, so the call is refused instead of reading the whole collection.
    ///
    /// With limits by key it considers windows of up to 366 days. The server then steps over the ends of all
    /// windows of the year after the range, unless [`with_longest_span`](Self::with_longest_span) sets how
    /// long windows are.
    ///
    /// Settings: `with_refs`; `session`, `deadline`, `max_time`, `read_concern`, `read_preference`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if the range ends before it starts or the model has no windows;
    /// [`ErrorKind::Damaged`] if a document is not a bucket of the model; errors of the server and the
    /// connection. A stream gives the damage in place of the document, and continues after it.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// use bucket_mongo::bson::DateTime;
    ///
    /// async fn between<T: Bucketed>(buckets: &Buckets<T>, from: DateTime, to: DateTime) -> Result<Vec<T>> {
    ///     buckets.range_all_keys(from..to).await
    /// }
    /// ```
    pub fn range_all_keys(&self, range: impl IntoTimeRange) -> RangeAllKeysQuery<'_, T> {
        RangeAllKeysQuery {
            buckets: self,
            range: range.into_time_range(),
            options: ReadOptions::default(),
            decode: records,
        }
    }
}

/// A read of a time range of all keys; see [`Buckets::range_all_keys`].
#[must_use = "nothing is read until this is awaited"]
pub struct RangeAllKeysQuery<'a, T: Record, R = T> {
    buckets: &'a Buckets<T>,
    range: TimeRange,
    options: ReadOptions<'a>,
    /// Reads a bucket: its records in the range, in time order.
    decode: fn(&RawDocument, TimeRange) -> Result<Vec<R>, DamagedBucket>,
}

impl<T: Record, R> fmt::Debug for RangeAllKeysQuery<'_, T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RangeAllKeysQuery")
            .field("range", &self.range)
            .finish_non_exhaustive()
    }
}

impl<'a, T: Record> RangeAllKeysQuery<'a, T> {
    /// Gives a reference with each record; see [`RecordsQuery::with_refs`](super::RecordsQuery::with_refs).
    pub fn with_refs(self) -> RangeAllKeysQuery<'a, T, Referenced<T>> {
        RangeAllKeysQuery {
            buckets: self.buckets,
            range: self.range,
            options: self.options,
            decode: referenced,
        }
    }
}

impl<'a, T: Record, R: Send + 'a> RangeAllKeysQuery<'a, T, R> {
    read_setters!(options);

    /// The records as a stream over one cursor, which is opened when the stream is first polled.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result, bson::DateTime};
    /// use futures_util::TryStreamExt;
    ///
    /// async fn number<T: Bucketed>(buckets: &Buckets<T>, from: DateTime, to: DateTime) -> Result<u64> {
    ///     let mut records = buckets.range_all_keys(from..to).stream();
    ///     let mut number = 0;
    ///     while let Some(_record) = records.try_next().await? {
    ///         number += 1;
    ///     }
    ///     Ok(number)
    /// }
    /// ```
    pub fn stream(self) -> RecordStream<'a, R> {
        let context = Context::of_all::<T>("range_all_keys");
        let live = read::live(T::SPEC, DateTime::now());
        let range = self.range.and(live.range());
        let plan = match self.plan(&live, range, &context) {
            Ok(plan) => live.find_undated(T::SPEC, plan),
            Err(error) => return RecordStream::failed(error),
        };
        if range.is_empty() {
            return RecordStream::plain(stream::empty());
        }
        let Self {
            buckets,
            mut options,
            decode,
            ..
        } = self;
        let hint = plan.hint.clone();
        let failed = {
            let context = context.clone();
            move |fault: ReadFault| Error::read_by(&hint, fault, &context)
        };
        let open = {
            let (context, failed) = (context.clone(), failed.clone());
            async move {
                let store = buckets.store();
                let collection = store.readable(&mut options, &context).await?;
                let rows = Rows::open(&collection, vec![plan], 0, options).await;
                rows.map_err(failed)
            }
        };
        let decode = move |stored: &RawDocument| {
            let records = decode(stored, range);
            records.map_err(|damage| Error::new(ErrorKind::Damaged(damage), &context))
        };
        RecordStream::plain(each(open, decode, failed))
    }

    /// The longest span of a bucket that is not merged, in milliseconds.
    fn longest(&self, context: &Context) -> Result<i64> {
        let own = read::longest(T::SPEC, None)
            .map_err(|error| Error::new(ErrorKind::Encode(error), context))?;
        Ok(match self.buckets.told_longest() {
            // The spans of one key's buckets say nothing about other keys.
            0 if self.buckets.has_limits() => read::LONGEST_WINDOW,
            _ => own.max(self.buckets.longest()),
        })
    }

    /// The find of what is shown of the range.
    fn plan(&self, live: &Live, shown: TimeRange, context: &Context) -> Result<FindPlan> {
        let invalid = |message: &str| {
            let message = message.to_owned();
            Error::new(ErrorKind::InvalidArgument { message }, context)
        };
        if self.range.is_reversed() {
            return Err(invalid("the time range ends before it starts"));
        }
        let longest = live.longest(self.longest(context)?, shown);
        let plan = read::across_keys(T::SPEC, shown, longest);
        plan.ok_or_else(|| {
            invalid(
                "the buckets of the model have no windows: no index bounds the times of the records \
                 of all keys, so read them key by key",
            )
        })
    }

    async fn run(self) -> Result<Vec<R>> {
        let records: Vec<R> = self.stream().try_collect().await?;
        tracing::debug!(target: trace::READ, records = records.len(), "range_all_keys");
        Ok(records)
    }
}

/// The records of a bucket inside the range, in time order.
fn records<T: Record>(stored: &RawDocument, range: TimeRange) -> Result<Vec<T>, DamagedBucket> {
    let bucket = bucket::decode_within::<T>(stored, range)?;
    let mut records = bucket::assemble_records(bucket);
    read::sort_by_time(&mut records, Record::time);
    Ok(records)
}

/// The same, each with a reference.
fn referenced<T: Record>(
    stored: &RawDocument,
    range: TimeRange,
) -> Result<Vec<Referenced<T>>, DamagedBucket> {
    let mut records = read::references::<T>(stored, range)?;
    read::sort_by_time(&mut records, |of| of.record.time());
    Ok(records)
}

impl<'a, T: Record, R: Send + 'a> IntoFuture for RangeAllKeysQuery<'a, T, R> {
    type Output = Result<Vec<R>>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span = tracing::debug_span!(target: trace::READ, "range_all_keys", collection = T::SPEC.collection());
        Box::pin(self.run().instrument(span))
    }
}
