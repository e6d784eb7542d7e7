//! Statistics of a span of time: the plan of the read, and the sum of its results.

use bson::{DateTime, RawDocument};

use super::{
    FindPlan, Live, ReadKey, longest,
    parts::{Part, each_record, parts, parts_outside, span, unpacked, with_span},
};
use crate::{
    bucket::record::Record,
    codec::raw::printed_id,
    error::{DamagedBucket, EncodeError, SumOverflow},
    model::limits::Limits,
    stats::{StoredStats, Total},
    time::range::TimeRange,
};

/// Adds up the buckets of a key and a span of time.
///
/// ```
/// # use bson::RawDocumentBuf;
/// # use bucket_core::{DamagedBucket, Record, TimeRange, read::{FindPlan, Live, StatsReader}};
/// fn count<T: Record>(
///     key: T::Key,
///     range: TimeRange,
///     find: impl Fn(FindPlan) -> Vec<RawDocumentBuf>,
/// ) -> Result<u64, Box<dyn std::error::Error>> {
///     let mut reader = StatsReader::<T>::new(key, range, None, 0, Live::default())?;
///     for stored in find(reader.plan()) {
///         reader.take(&stored)?;
///     }
///     Ok(reader.finish()?.map_or(0, |totals| totals.count))
/// }
/// ```
#[derive(Debug)]
pub struct StatsReader<T: Record> {
    key: T::Key,
    range: TimeRange,
    live: Live,
    longest: i64,
    total: Total,
    buckets: u64,
    opened: u64,
    /// Moments that no record is before, and none is after.
    reach: Option<(DateTime, DateTime)>,
    /// The longest span of a bucket so far, in milliseconds.
    longest_seen: i64,
}

/// The result for a span of time.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RangeTotals {
    /// The number of records, at least 1.
    pub count: u64,
    /// Their aggregates.
    pub stats: StoredStats,
    /// The number of buckets with these records.
    pub buckets: u64,
    /// The number of those buckets whose items were read.
    pub opened: u64,
    /// Moments that no record is before, and none is after: where they are known, those of the records, and of windows
    /// their own. Known if the range has two sides.
    pub reach: Option<(DateTime, DateTime)>,
}

impl<T: Record> StatsReader<T> {
    /// The statistics of this key and range. Pass the key's limits if they differ from the model's.
    /// Buckets may be as long as `at_least` milliseconds. Only shown records count.
    ///
    /// # Errors
    ///
    /// [`EncodeError::Limits`] if the limits are invalid.
    pub fn new(
        key: T::Key,
        range: TimeRange,
        limits: Option<Limits>,
        at_least: i64,
        live: Live,
    ) -> Result<Self, EncodeError> {
        let own = T::SPEC.form();
        let form = limits.map_or(Ok(own), |limits| limits.apply(own))?;
        Ok(Self {
            key,
            range: range.and(live.range()),
            longest: live.longest(longest(T::SPEC, limits)?.max(at_least), range),
            live,
            total: Total::new(T::SPEC, form.size()),
            buckets: 0,
            opened: 0,
            reach: None,
            longest_seen: 0,
        })
    }

    /// The read. Pass each returned document to [`take`](Self::take).
    #[must_use]
    pub fn plan(&self) -> FindPlan {
        let key = ReadKey::of::<T>(&self.key);
        let plan = parts(T::SPEC, &key, self.range, self.longest, &self.live);
        self.live.find_undated(T::SPEC, plan)
    }

    /// The find for buckets that the [plan](Self::plan) does not find because their ids are not of the key, if
    /// there can be any. Run both, in any order.
    #[must_use]
    pub fn plan_outside(&self) -> Option<FindPlan> {
        let key = ReadKey::of::<T>(&self.key);
        let plan = parts_outside(T::SPEC, &key, self.range, self.longest, &self.live)?;
        Some(self.live.find_undated(T::SPEC, plan))
    }

    /// Adds a bucket.
    ///
    /// # Errors
    ///
    /// [`DamagedBucket`] if it is not a bucket of the model.
    pub fn take(&mut self, stored: &RawDocument) -> Result<(), DamagedBucket> {
        let damaged = |damage| {
            let damage = with_span(T::SPEC, self.range, stored, damage);
            DamagedBucket::new(printed_id(stored), damage)
        };
        let unpacked = unpacked(T::SPEC, self.range, stored).map_err(damaged)?;
        let span = span(T::SPEC, &unpacked).map_err(damaged)?;
        self.longest_seen = self.longest_seen.max(span);
        let before = self.total.count();
        let part = Part::read(T::SPEC, self.range, &unpacked);
        let opened = part.and_then(|part| match part {
            Part::Whole(stats, reach) => {
                if let Some(reach) = reach {
                    widen(&mut self.reach, reach);
                }
                self.total.add_bucket(stats);
                Ok(0)
            }
            Part::Opened(items) => {
                each_record::<T>(&self.key, &unpacked, items, |time, record| {
                    widen(&mut self.reach, (time, time));
                    self.total
                        .add_record(time, |sink| record.visit_inputs(sink));
                })?;
                Ok(1)
            }
        });
        let opened = opened.map_err(damaged)?;
        // The range may cut a window where it has no records.
        if self.total.count() > before {
            self.buckets += 1;
            self.opened += opened;
        }
        Ok(())
    }

    /// The longest span of a bucket, in milliseconds, if it is longer than the read assumed. The
    /// read must then be repeated with it.
    #[must_use]
    pub fn longer(&self) -> Option<i64> {
        let matters = self.range.start().is_some() && self.longest_seen > self.longest;
        matters.then_some(self.longest_seen)
    }

    /// A moment that no record so far is after. In models without windows, it is the time of the
    /// latest record, if the range has an end.
    ///
    /// It is known even if the sums overflow.
    #[must_use]
    pub fn last_time(&self) -> Option<DateTime> {
        let (_, last) = self.reach.filter(|_| self.total.count() > 0)?;
        Some(last)
    }

    /// The result for all records; `None` if the range has no records.
    ///
    /// # Errors
    ///
    /// [`SumOverflow`] if the sum of an aggregate exceeds what a number can hold.
    pub fn finish(self) -> Result<Option<RangeTotals>, SumOverflow> {
        let count = self.total.count();
        if count == 0 {
            return Ok(None);
        }
        Ok(Some(RangeTotals {
            count,
            stats: self.total.finish()?,
            buckets: self.buckets,
            opened: self.opened,
            reach: self.reach,
        }))
    }
}

/// Makes a span of time hold these moments, too.
fn widen(reach: &mut Option<(DateTime, DateTime)>, (first, last): (DateTime, DateTime)) {
    let (begin, end) = reach.unwrap_or((first, last));
    *reach = Some((begin.min(first), end.max(last)));
}
