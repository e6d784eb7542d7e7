//! `stats`: the statistics of a key over a span of time.

use std::{fmt, ops::Deref};

use bucket_core::{
    IntoTimeRange, Record, TimeRange,
    read::{self, RangeTotals, ReadKey, StatsReader},
};
use mongodb::bson::{DateTime, Document};
use tracing::Instrument;

use super::{ActionFuture, run_plan};
use crate::{
    Buckets, Error, ErrorKind, Result, error::Context, read::ReadOptions,
    read_setters::read_setters, trace,
};

impl<T: Record> Buckets<T> {
    /// The statistics of a key's records from the start of `range` and before its end: their
    /// number, and every aggregate that the model keeps. `None` if there is no record.
    ///
    /// They are exact for any range: buckets that lie in it as a whole are told by their
    /// aggregates, without their items, of the others (two of a window's at most) the items inside
    /// of the range are added up. In the manual's form and in numbered buckets the model has to
    /// keep the first and the last time for that (`#[bucket(time, first = "..", last = "..")]`),
    /// else the items of every bucket in the range are read.
    ///
    /// What is stored while this runs may be counted or not.
    ///
    /// Settings: `session`, `deadline`, `max_time`, `read_concern`, `read_preference`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if the end of the range is before its start,
    /// [`ErrorKind::Damaged`] if a document is no bucket of the model, [`ErrorKind::Overflow`] if a
    /// sum passes 64 bits, [`ErrorKind::MissingIndex`] before `ensure()`.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// use bucket_mongo::bson::DateTime;
    ///
    /// async fn print<T: Bucketed>(buckets: &Buckets<T>, key: T::Key, from: DateTime) -> Result<()> {
    ///     if let Some(stats) = buckets.stats(key, from..).await? {
    ///         println!("{} records: {:?}", stats.count(), stats.stats());
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn stats(&self, key: impl Into<T::Key>, range: impl IntoTimeRange) -> StatsQuery<'_, T> {
        StatsQuery {
            buckets: self,
            key: key.into(),
            range: range.into_time_range(),
            options: ReadOptions::default(),
        }
    }
}

/// Statistics to be read; see [`Buckets::stats`].
#[must_use = "nothing is read until this is awaited"]
#[derive(Debug)]
pub struct StatsQuery<'a, T: Record> {
    buckets: &'a Buckets<T>,
    key: T::Key,
    range: TimeRange,
    options: ReadOptions<'a>,
}

/// The statistics of a span of time that has records; see [`Buckets::stats`]. It stands for the
/// model's stats: `stats.value().avg()`. Its own methods come first: an aggregated field that is called
/// `count`, `buckets`, `opened`, `stats` or `into_stats` is read by `stats.stats().count()`.
///
/// ```
/// # use bucket_mongo::{Record, action::RangeStats};
/// fn print<T: Record>(stats: &RangeStats<T>) {
///     println!("{} records in {} buckets", stats.count(), stats.buckets());
/// }
/// ```
pub struct RangeStats<T: Record> {
    count: u64,
    stats: T::Stats,
    buckets: u64,
    opened: u64,
}

impl<T: Record> RangeStats<T> {
    /// The number of records, at least 1.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The aggregates of all of them, as a bucket has them of its own.
    #[must_use]
    pub fn stats(&self) -> &T::Stats {
        &self.stats
    }

    /// The aggregates of all of them.
    #[must_use]
    pub fn into_stats(self) -> T::Stats {
        self.stats
    }

    /// The number of buckets that the records are in.
    #[must_use]
    pub fn buckets(&self) -> u64 {
        self.buckets
    }

    /// Of how many of those buckets the items were read, because their aggregates did not suffice.
    #[must_use]
    pub fn opened(&self) -> u64 {
        self.opened
    }
}

impl<T: Record> Deref for RangeStats<T> {
    type Target = T::Stats;

    fn deref(&self) -> &T::Stats {
        &self.stats
    }
}

impl<T: Record> Clone for RangeStats<T> {
    fn clone(&self) -> Self {
        Self {
            stats: self.stats.clone(),
            ..*self
        }
    }
}

impl<T: Record> fmt::Debug for RangeStats<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RangeStats")
            .field("count", &self.count)
            .field("stats", &self.stats)
            .field("buckets", &self.buckets)
            .field("opened", &self.opened)
            .finish()
    }
}

/// What the records of a key in the range come to.
pub(super) async fn totals<T: Record>(
    buckets: &Buckets<T>,
    key: &T::Key,
    range: TimeRange,
    options: ReadOptions<'_>,
    context: &Context,
) -> Result<Option<RangeTotals>> {
    let reader = read_all(buckets, key, range, options, context).await?;
    reader
        .finish()
        .map_err(|source| Error::new(ErrorKind::Overflow(source), context))
}

/// Reads the buckets of a key that have records in the range.
pub(super) async fn read_all<T: Record>(
    buckets: &Buckets<T>,
    key: &T::Key,
    range: TimeRange,
    mut options: ReadOptions<'_>,
    context: &Context,
) -> Result<StatsReader<T>> {
    let failed = |kind| Error::new(kind, context);
    let limits = buckets.limits_of(key);
    let collection = buckets.store().readable(&mut options, context).await?;
    loop {
        let (key, known) = (key.clone(), buckets.longest());
        let live = read::live(T::SPEC, DateTime::now());
        let reader = StatsReader::<T>::new(key, range, limits, known, live);
        let mut reader = reader.map_err(|source| failed(ErrorKind::Encode(source)))?;
        let plan = reader.plan();
        let take = |stored: &_| reader.take(stored);
        run_plan::each(&collection, plan, options.lend(), context, take).await?;
        match reader.longer() {
            None => return Ok(reader),
            // Which is not longer than what is known next time.
            Some(longest) => buckets.saw_longest(longest),
        }
    }
}

impl<'a, T: Record> StatsQuery<'a, T> {
    read_setters!(options);

    /// The stages of an aggregation that gives the statistics as one document, for tools that take a
    /// pipeline: the bucket tutorial's `getStats` with bounds on the index, and exact at the edges.
    ///
    /// It has the number of records (`count`) and of buckets (`buckets`), and the smallest and largest
    /// values, sums and averages under their own paths. Where the model has an aggregate of such a name, the
    /// number has an underscore at its end (`count_`). There is no document if there are no records.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if the end of the range is before its start.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, bson::{DateTime, Document}};
    /// # async fn f<T: Bucketed>(buckets: Buckets<T>, key: T::Key) -> Result<(), Box<dyn std::error::Error>> {
    /// let pipeline = buckets.stats(key, DateTime::from_millis(0)..DateTime::now()).pipeline()?;
    /// let cursor = buckets.collection::<Document>().aggregate(pipeline).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn pipeline(&self) -> Result<Vec<Document>> {
        let context = Context::of::<T>("stats", &self.key);
        self.check(&context)?;
        let limits = self.buckets.limits_of(&self.key);
        let longest = read::longest(T::SPEC, limits)
            .map_err(|source| Error::new(ErrorKind::Encode(source), &context))?;
        let longest = longest.max(self.buckets.longest());
        let live = read::live(T::SPEC, DateTime::now());
        let key = ReadKey::of::<T>(&self.key);
        Ok(read::stats_pipeline(
            T::SPEC,
            &key,
            self.range,
            longest,
            &live,
        ))
    }

    fn check(&self, context: &Context) -> Result<()> {
        if self.range.is_reversed() {
            let message = "the end of the range is before its start".to_owned();
            return Err(Error::new(ErrorKind::InvalidArgument { message }, context));
        }
        Ok(())
    }

    async fn run(self) -> Result<Option<RangeStats<T>>> {
        let context = Context::of::<T>("stats", &self.key);
        self.check(&context)?;
        if self.range.is_empty() {
            return Ok(None);
        }
        let read = totals(self.buckets, &self.key, self.range, self.options, &context);
        let totals = read.await?;
        let stats = totals.map(|totals| RangeStats {
            count: totals.count,
            stats: totals.stats.into(),
            buckets: totals.buckets,
            opened: totals.opened,
        });
        let figures = stats.as_ref().map_or((0, 0, 0), |all: &RangeStats<T>| {
            (all.count, all.buckets, all.opened)
        });
        let (records, buckets, opened) = figures;
        tracing::debug!(target: trace::READ, records, buckets, opened, "stats");
        Ok(stats)
    }
}

impl<'a, T: Record> IntoFuture for StatsQuery<'a, T> {
    type Output = Result<Option<RangeStats<T>>>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span =
            tracing::debug_span!(target: trace::READ, "stats", collection = T::SPEC.collection());
        Box::pin(self.run().instrument(span))
    }
}
