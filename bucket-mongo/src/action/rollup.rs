//! `rollup`: the statistics of a key, step by step.

use std::fmt;

use bucket_core::{
    Fill, Interval, IntoTimeRange, Record, TimeRange,
    read::{self, RollupReader, RollupSteps, RollupTotals, StepTotals, WalkOrder},
    step::Filled,
};
use mongodb::bson::{DateTime, Document};
use tracing::Instrument;

use super::{
    ActionFuture, run_plan,
    stats::{read_all, totals},
};
use crate::{
    Buckets, Error, ErrorKind, Result,
    error::Context,
    read::{MOST_REPLACED, Met, ReadOptions, Request, SameCollection, taken_away},
    read_setters::read_setters,
    trace,
};

impl<T: Record> Buckets<T> {
    /// Reads the statistics of a key's records from the start of `range` to its end, which is excluded. Each
    /// step that the range touches is a row with the number of records and every aggregate that the model
    /// keeps.
    ///
    /// The statistics are exact, as with [`stats`](Self::stats). If the steps are multiples of the model's
    /// window, buckets send only their aggregates, and items are read only from buckets that the range cuts.
    /// A bucket that the bound between two steps cuts is read once more, with its items. Rows at the edges
    /// cover only the records inside the range.
    ///
    /// Steps without records are left out unless [`fill`](RollupQuery::fill) asks for them.
    ///
    /// Settings: `fill`, `session`, `deadline`, `max_time`, `read_concern`, `read_preference`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if the range has no start or no end, is reversed or has more than
    /// 100,000 steps, or if the step is zero; otherwise as [`stats`](Self::stats).
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// use bucket_mongo::{Interval, bson::DateTime};
    ///
    /// async fn print<T: Bucketed>(buckets: &Buckets<T>, key: T::Key, from: DateTime, to: DateTime) -> Result<()> {
    ///     let rollup = buckets.rollup(key, from..to, Interval::hours(1)).await?;
    ///     for row in rollup.rows() {
    ///         println!("{}: {} records, {:?}", row.start(), row.count(), row.stats());
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn rollup(
        &self,
        key: impl Into<T::Key>,
        range: impl IntoTimeRange,
        every: Interval,
    ) -> RollupQuery<'_, T> {
        RollupQuery {
            buckets: self,
            key: key.into(),
            range: range.into_time_range(),
            every,
            fill: Fill::default(),
            options: ReadOptions::default(),
        }
    }
}

/// A read of a rollup; see [`Buckets::rollup`].
#[must_use = "nothing is read until this is awaited"]
#[derive(Debug)]
pub struct RollupQuery<'a, T: Record> {
    buckets: &'a Buckets<T>,
    key: T::Key,
    range: TimeRange,
    every: Interval,
    fill: Fill,
    options: ReadOptions<'a>,
}

/// The statistics of a time range, step by step; see [`Buckets::rollup`].
///
/// ```
/// # use bucket_mongo::{Record, Rollup};
/// fn print<T: Record>(rollup: &Rollup<T>) {
///     println!("{} steps, {} buckets", rollup.rows().len(), rollup.buckets());
///     for row in rollup {
///         println!("{}: {} records", row.start(), row.count());
///     }
/// }
/// ```
pub struct Rollup<T: Record> {
    rows: Vec<RollupRow<T>>,
    fill: Fill,
    /// The last step with records before the range.
    before: Option<(DateTime, T::Stats)>,
    buckets: u64,
    opened: u64,
}

/// A step and the statistics of its records inside the range; see [`Buckets::rollup`].
///
/// ```
/// # use bucket_mongo::{Record, RollupRow};
/// fn is_gap<T: Record>(row: &RollupRow<T>) -> bool {
///     row.stats().is_none()
/// }
/// ```
pub struct RollupRow<T: Record> {
    start: DateTime,
    end: DateTime,
    count: u64,
    stats: Option<T::Stats>,
}

impl<T: Record> Rollup<T> {
    /// The steps in order: those that have records, or all of them with any [`Fill`] but [`Fill::Skip`].
    #[must_use]
    pub fn rows(&self) -> &[RollupRow<T>] {
        &self.rows
    }

    /// Returns one value per step, and fills the gaps: steps without records, and steps for which `value`
    /// returns `None`.
    ///
    /// [`Fill::Previous`] starts with the value of the last step with records before the range, if there is
    /// one. If the start of the range cuts that step, the value covers its part before the range.
    ///
    /// ```
    /// # use bucket_mongo::{Record, Rollup};
    /// fn counts<T: Record>(rollup: &Rollup<T>, count: fn(&T::Stats) -> Option<f64>) {
    ///     for point in rollup.series(count) {
    ///         println!("{} {:?} {}", point.at, point.value, point.is_filled);
    ///     }
    /// }
    /// ```
    #[must_use]
    pub fn series(&self, value: impl Fn(&T::Stats) -> Option<f64>) -> Vec<Filled> {
        let rows = self.rows.iter();
        let rows = rows.map(|row| (row.start, row.stats.as_ref().and_then(&value)));
        let before = self
            .before
            .as_ref()
            .and_then(|(at, stats)| Some((*at, value(stats)?)));
        self.fill.apply(rows.collect(), before)
    }

    /// The number of buckets that the records are in.
    #[must_use]
    pub fn buckets(&self) -> u64 {
        self.buckets
    }

    /// The number of those buckets whose items were read, because their aggregates did not suffice.
    #[must_use]
    pub fn scanned_buckets(&self) -> u64 {
        self.opened
    }
}

impl<T: Record> IntoIterator for Rollup<T> {
    type Item = RollupRow<T>;
    type IntoIter = std::vec::IntoIter<RollupRow<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.rows.into_iter()
    }
}

impl<T: Record> Rollup<T> {
    /// The rows one by one, in the order of time.
    pub fn iter(&self) -> std::slice::Iter<'_, RollupRow<T>> {
        self.rows().iter()
    }
}

impl<'a, T: Record> IntoIterator for &'a Rollup<T> {
    type Item = &'a RollupRow<T>;
    type IntoIter = std::slice::Iter<'a, RollupRow<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.rows.iter()
    }
}

impl<T: Record> RollupRow<T> {
    /// The start of the step, which may be before the start of the range.
    #[must_use]
    pub fn start(&self) -> DateTime {
        self.start
    }

    /// The end of the step, which is excluded and may be after the end of the range.
    #[must_use]
    pub fn end(&self) -> DateTime {
        self.end
    }

    /// The number of records.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The aggregates of its records; `None` if there are no records.
    #[must_use]
    pub fn stats(&self) -> Option<&T::Stats> {
        self.stats.as_ref()
    }

    /// The aggregates of its records as a bucket stores its own: each under its path, without those that have no value.
    /// `None` if there are no records.
    ///
    /// ```
    /// # use bucket_mongo::{Record, Rollup};
    /// fn print<T: Record>(rollup: &Rollup<T>) {
    ///     for row in rollup {
    ///         println!("{}: {:?}", row.start(), row.to_document());
    ///     }
    /// }
    /// ```
    #[must_use]
    pub fn to_document(&self) -> Option<Document> {
        let stats = self.stats.as_ref()?;
        Some(stats.as_ref().to_document(T::SPEC))
    }
}

impl<T: Record> Clone for Rollup<T> {
    fn clone(&self) -> Self {
        Self {
            rows: self.rows.clone(),
            before: self.before.clone(),
            ..*self
        }
    }
}

impl<T: Record> Clone for RollupRow<T> {
    fn clone(&self) -> Self {
        Self {
            stats: self.stats.clone(),
            ..*self
        }
    }
}

impl<T: Record> fmt::Debug for Rollup<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rollup")
            .field("rows", &self.rows)
            .field("fill", &self.fill)
            .field("before", &self.before)
            .field("buckets", &self.buckets)
            .field("opened", &self.opened)
            .finish()
    }
}

impl<T: Record> fmt::Debug for RollupRow<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RollupRow")
            .field("start", &self.start)
            .field("end", &self.end)
            .field("count", &self.count)
            .field("stats", &self.stats)
            .finish()
    }
}

impl<'a, T: Record> RollupQuery<'a, T> {
    /// Sets how steps without records are filled. The default is [`Fill::Skip`].
    ///
    /// With [`Fill::Previous`], the call also looks for the last record before the range. In the manual's
    /// form and in numbered buckets no index bounds the times of buckets, so this reads all buckets from
    /// before the range, with their items unless the model keeps the first and the last time.
    pub fn fill(mut self, fill: Fill) -> Self {
        self.fill = fill;
        self
    }

    read_setters!(options);

    async fn run(mut self) -> Result<Rollup<T>> {
        let context = Context::of::<T>("rollup", &self.key);
        // Of buckets that two steps share, the items are read by a second find.
        let store = self.buckets.store();
        let mut moment = store.moment(&mut self.options, &context).await?;
        let query = RollupQuery {
            options: self.options.in_moment(moment.as_mut()),
            ..self
        };
        query.read_steps(context).await
    }

    async fn read_steps(mut self, context: Context) -> Result<Rollup<T>> {
        let steps = RollupSteps::new(self.range, &self.every).map_err(|error| {
            let message = error.to_string();
            Error::new(ErrorKind::InvalidArgument { message }, &context)
        })?;
        let store = self.buckets.store();
        // From here on the handle knows a collection.
        store.readable(&mut self.options, &context).await?;
        let mut replaced = 0;
        let (totals, before) = loop {
            let began = SameCollection::known(store);
            let (totals, finds) = self.read(&steps, &context).await?;
            let is_filled = self.fill == Fill::Previous && !steps.is_empty();
            let before = match self.range.start().filter(|_| is_filled) {
                Some(start) => self.step_before(start, &context).await?,
                None => None,
            };
            // One find meets one collection, and what was not found cannot be of another one.
            if finds + u32::from(is_filled) <= 1 || totals.buckets == 0 && before.is_none() {
                break (totals, before);
            }
            match began.met(&mut self.options).await {
                Met::One => break (totals, before),
                // The handle may have known another one before the read began.
                Met::Another if replaced < MOST_REPLACED => replaced += 1,
                Met::Another | Met::Gone => return Err(taken_away(&context)),
            }
        };
        let RollupTotals {
            steps,
            buckets,
            opened,
            ..
        } = totals;
        let skip = self.fill == Fill::Skip;
        let kept = steps.into_iter().filter(|step| !skip || step.count > 0);
        let rows: Vec<RollupRow<T>> = kept.map(RollupRow::of).collect();
        let records: u64 = rows.iter().map(RollupRow::count).sum();
        let steps = rows.len();
        tracing::debug!(target: trace::READ, steps, records, buckets, opened, "rollup");
        Ok(Rollup {
            rows,
            fill: self.fill,
            before,
            buckets,
            opened,
        })
    }

    async fn read(
        &mut self,
        steps: &RollupSteps,
        context: &Context,
    ) -> Result<(RollupTotals, u32)> {
        let failed = |kind| Error::new(kind, context);
        let limits = self.buckets.limits_of(&self.key);
        let store = self.buckets.store();
        let collection = store.readable(&mut self.options, context).await?;
        let mut finds;
        let reader = 'again: loop {
            let (key, known) = (self.key.clone(), self.buckets.longest());
            let live = read::live_stats(T::SPEC, DateTime::now());
            let reader = RollupReader::<T>::new(key, steps, limits, known, live);
            let mut reader = reader.map_err(|source| failed(ErrorKind::Encode(source)))?;
            finds = 0;
            while let Some(plan) = reader.next_plan() {
                finds += 1;
                let options = self.options.lend();
                let plans = [Some(plan), reader.plan_outside()];
                let plans = plans.into_iter().flatten().collect();
                let take = |stored: &_| reader.take(stored);
                run_plan::each(&collection, plans, options, context, take).await?;
                if let Some(longest) = reader.longer() {
                    // The next pass knows a span at least as long.
                    self.buckets.saw_longest(longest);
                    continue 'again;
                }
            }
            break reader;
        };
        let totals = reader
            .finish()
            .map_err(|source| failed(ErrorKind::Overflow(source)))?;
        Ok((totals, finds))
    }

    /// The start of the step of the last record before `start`, and the statistics of that step's records
    /// before `start`.
    async fn step_before(
        &mut self,
        start: DateTime,
        context: &Context,
    ) -> Result<Option<(DateTime, T::Stats)>> {
        let Some(last) = self.last_before(start, context).await? else {
            return Ok(None);
        };
        let (from, to) = self.every.span(last);
        let step = TimeRange::new(Some(from), Some(to.min(start)));
        let options = self.options.lend();
        let totals = totals(self.buckets, &self.key, step, options, context).await?;
        // It may have been removed meanwhile.
        Ok(totals.map(|totals| (from, totals.stats.into())))
    }

    /// The time of the last record before `start`.
    async fn last_before(
        &mut self,
        start: DateTime,
        context: &Context,
    ) -> Result<Option<DateTime>> {
        let mut range = TimeRange::new(None, Some(start));
        let mut newest = None;
        if T::SPEC.form().has_span() {
            newest = self.newest_before(range, context).await?;
            if T::SPEC.keep_stats().is_none() {
                return Ok(newest);
            }
            // Of which only the statistics are kept may be newer, if the limit was raised.
            range = TimeRange::new(newest, Some(start));
        }
        let options = self.options.lend();
        // Their sums may pass what a number can hold, and are ignored.
        let read = read_all(self.buckets, &self.key, range, options, context);
        match read.await {
            // A header that the bound cuts began before it, with the record that is known or an older one.
            Err(error) if error.is_partial() && newest.is_some() => Ok(newest),
            read => Ok(read?.last_time().max(newest)),
        }
    }

    /// The time of the newest record of a range.
    async fn newest_before(
        &mut self,
        range: TimeRange,
        context: &Context,
    ) -> Result<Option<DateTime>> {
        let options = self.options.lend();
        let keys = vec![self.key.clone()];
        let mut request = Request::new(self.buckets, context.operation, keys, WalkOrder::Time);
        request.newest_first = true;
        request.range = range;
        request.options = options;
        let walk = request.walk()?;
        let newest = request.first(walk, 1).await?.at_least(1)?.records.pop();
        Ok(newest.map(|newest| newest.record.time()))
    }
}

impl<T: Record> RollupRow<T> {
    fn of(step: StepTotals) -> Self {
        Self {
            start: step.start,
            end: step.end,
            count: step.count,
            stats: step.stats.map(Into::into),
        }
    }
}

impl<'a, T: Record> IntoFuture for RollupQuery<'a, T> {
    type Output = Result<Rollup<T>>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span =
            tracing::debug_span!(target: trace::READ, "rollup", collection = T::SPEC.collection());
        Box::pin(self.run().instrument(span))
    }
}
