//! `stats`: the statistics of a key over a time range.

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
    /// Reads the statistics of a key's records from the start of `range` to its end, which is excluded: their
    /// number, and every aggregate that the model keeps. `None` if there are no records.
    ///
    /// They are exact for any range. Buckets fully inside the range send only their aggregates; the items of
    /// edge buckets (at most two with windows) are added up if they are inside the range. In the manual's
    /// form and in numbered buckets this requires that the model keeps the first and the last time
    /// (`#[bucket(time, first = "..", last = "..")]`). Otherwise the items of every bucket in the range are
    /// read.
    ///
    /// Records stored while this runs may or may not be counted.
    ///
    /// Settings: `session`, `deadline`, `max_time`, `read_concern`, `read_preference`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if the time range ends before it starts, [`ErrorKind::Damaged`] if a
    /// document is not a bucket of the model, [`ErrorKind::Overflow`] if a sum exceeds 64 bits,
    /// [`ErrorKind::MissingIndex`] before `ensure()`.
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

/// A read of statistics; see [`Buckets::stats`].
#[must_use = "nothing is read until this is awaited"]
#[derive(Debug)]
pub struct StatsQuery<'a, T: Record> {
    buckets: &'a Buckets<T>,
    key: T::Key,
    range: TimeRange,
    options: ReadOptions<'a>,
}

/// The statistics of a time range that has records; see [`Buckets::stats`]. It dereferences to the model's
/// stats: `stats.value().avg()`. Its own methods take precedence: for an aggregated field called `count`,
/// `buckets`, `reach`, `scanned_buckets`, `stats` or `into_stats`, write `stats.stats().count()`.
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
    reach: Option<(DateTime, DateTime)>,
}

impl<T: Record> RangeStats<T> {
    /// The number of records, at least 1.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The aggregates of all records, as a bucket has those of its own records.
    #[must_use]
    pub fn stats(&self) -> &T::Stats {
        &self.stats
    }

    /// Returns the aggregates of all records.
    #[must_use]
    pub fn into_stats(self) -> T::Stats {
        self.stats
    }

    /// The aggregates of all records as a bucket stores its own: each under its path, without those that have no value.
    ///
    /// It is for programs that show statistics of any model.
    ///
    /// ```
    /// # use bucket_mongo::{Record, RangeStats};
    /// fn print<T: Record>(stats: &RangeStats<T>) {
    ///     println!("{} records: {}", stats.count(), stats.to_document());
    /// }
    /// ```
    #[must_use]
    pub fn to_document(&self) -> Document {
        self.stats.as_ref().to_document(T::SPEC)
    }

    /// The number of buckets that the records are in.
    #[must_use]
    pub fn buckets(&self) -> u64 {
        self.buckets
    }

    /// Moments that none of the records is before, and none is after, if the range has two sides; `None` if the read did not need
    /// the times. They are those of the first and the last record, but of a window that sent its aggregates only, its
    /// start and its last millisecond. Records of which only the statistics are kept count.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// use bucket_mongo::bson::DateTime;
    ///
    /// async fn span<T: Bucketed>(buckets: &Buckets<T>, key: T::Key) -> Result<Option<(DateTime, DateTime)>> {
    ///     let stats = buckets.stats(key, DateTime::MIN..DateTime::MAX).await?;
    ///     Ok(stats.and_then(|stats| stats.reach()))
    /// }
    /// ```
    #[must_use]
    pub fn reach(&self) -> Option<(DateTime, DateTime)> {
        self.reach
    }

    /// The number of those buckets whose items were read, because their aggregates did not suffice.
    #[must_use]
    pub fn scanned_buckets(&self) -> u64 {
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
            .field("reach", &self.reach)
            .finish()
    }
}

/// The totals of the records of a key in the range.
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
    let store = buckets.store();
    // A bucket that is merged between two finds would count twice, or never.
    let mut moment = store.moment(&mut options, context).await?;
    let mut options = options.in_moment(moment.as_mut());
    let collection = store.readable(&mut options, context).await?;
    loop {
        let (key, known) = (key.clone(), buckets.longest());
        let live = read::live_stats(T::SPEC, DateTime::now());
        let reader = StatsReader::<T>::new(key, range, limits, known, live);
        let mut reader = reader.map_err(|source| failed(ErrorKind::Encode(source)))?;
        let plans = [Some(reader.plan()), reader.plan_outside()];
        let plans = plans.into_iter().flatten().collect();
        let take = |stored: &_| reader.take(stored);
        run_plan::each(&collection, plans, options.lend(), context, take).await?;
        match reader.longer() {
            None => return Ok(reader),
            // The next pass knows a span at least as long.
            Some(longest) => buckets.saw_longest(longest),
        }
    }
}

impl<'a, T: Record> StatsQuery<'a, T> {
    read_setters!(options);

    /// Returns the stages of an aggregation that gives the statistics as one document, for tools that take a
    /// pipeline: the bucket tutorial's `getStats` with bounds on the index, and exact at the edges.
    ///
    /// The document has the number of records (`count`) and of buckets (`buckets`), and the smallest and
    /// largest values, sums and averages under their own paths. If the model has an aggregate with such a
    /// name, the number ends with an underscore (`count_`). Without records there is no document.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if the time range ends before it starts.
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
        let live = read::live(T::SPEC, DateTime::now());
        let longest = live.longest(longest.max(self.buckets.longest()), self.range);
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
            let message = "the time range ends before it starts".to_owned();
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
            reach: totals.reach,
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
