//! Rollups: a span of time divided into steps, the plans of the reads, and a total for each step.

use bson::{Bson, DateTime, RawBsonRef, RawDocument};

use super::{
    FindPlan, Live, ReadKey, in_commands, longest,
    parts::{
        Part, each_record, opened, opened_by_id, parts, parts_outside, span, unpacked, with_span,
    },
};
use crate::{
    bucket::{field, record::Record, wrong_field},
    codec::raw::printed_id,
    error::{Damage, DamagedBucket, EncodeError, RollupError, SumOverflow},
    model::{form::Form, limits::Limits, spec::ID},
    stats::{StoredStats, Total},
    time::{range::TimeRange, step::Interval},
};

/// The most steps of a rollup.
const MOST_STEPS: u64 = 100_000;

/// The most buckets that one command requests, if their ids are not too long: an id contains its
/// key.
const MOST_IDS: usize = 10_000;

/// A span of time that is divided into steps.
///
/// ```
/// use bson::DateTime;
/// use bucket_core::{Interval, IntoTimeRange, read::RollupSteps};
///
/// let range = (DateTime::from_millis(1)..DateTime::from_millis(120_001)).into_time_range();
/// assert_eq!(RollupSteps::new(range, &Interval::minutes(1))?.len(), 3);
/// # Ok::<(), bucket_core::error::RollupError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollupSteps {
    range: TimeRange,
    every: Interval,
    /// Their starts and ends, in order; neighbours touch.
    spans: Vec<(DateTime, DateTime)>,
}

impl RollupSteps {
    /// The steps that the range touches.
    ///
    /// # Errors
    ///
    /// [`RollupError`] if the range is unbounded on a side, is reversed or has more than 100,000
    /// steps, or if the step is invalid.
    pub fn new(range: TimeRange, every: &Interval) -> Result<Self, RollupError> {
        every.check()?;
        if range.start().is_none() || range.end().is_none() {
            return Err(RollupError::Unbounded);
        }
        if range.is_reversed() {
            return Err(RollupError::Reversed);
        }
        let steps = every.count_in(range);
        if steps > MOST_STEPS {
            let most = MOST_STEPS;
            return Err(RollupError::TooManySteps { steps, most });
        }
        Ok(Self {
            range,
            every: every.clone(),
            spans: every.steps(range).collect(),
        })
    }

    /// The number of steps; 0 for an empty range.
    #[must_use]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether it has no steps.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The index of the step that contains a moment of the range.
    fn at(&self, moment: DateTime) -> Option<usize> {
        let behind = self.spans.partition_point(|(start, _)| *start <= moment);
        behind.checked_sub(1)
    }

    /// The index of the step that contains both moments, if one does.
    fn of_both(&self, (first, last): (DateTime, DateTime)) -> Option<usize> {
        let at = self.at(first)?;
        let (_, end) = self.spans.get(at)?;
        (last < *end).then_some(at)
    }

    /// Whether hardly any bucket of the form is inside one step, so that the first read already
    /// requests the items.
    fn cut_all(&self, form: Form) -> bool {
        let (Some(window), Some((start, end))) = (form.window(), self.spans.first()) else {
            return false;
        };
        let length = end
            .timestamp_millis()
            .saturating_sub(start.timestamp_millis());
        length <= window.longest_millis() && !self.every.is_multiple_of(window, self.range)
    }
}

/// Adds up the buckets of a key, step by step.
///
/// ```
/// # use bson::RawDocumentBuf;
/// # use bucket_core::{Record, read::{FindPlan, Live, RollupReader, RollupSteps}};
/// fn counts<T: Record>(
///     key: T::Key,
///     steps: &RollupSteps,
///     find: impl Fn(FindPlan) -> Vec<RawDocumentBuf>,
/// ) -> Result<Vec<u64>, Box<dyn std::error::Error>> {
///     let mut reader = RollupReader::<T>::new(key, steps, None, 0, Live::default())?;
///     while let Some(plan) = reader.next_plan() {
///         for stored in find(plan) {
///             reader.take(&stored)?;
///         }
///     }
///     Ok(reader.finish()?.steps.iter().map(|step| step.count).collect())
/// }
/// ```
#[derive(Debug)]
pub struct RollupReader<'s, T: Record> {
    key: T::Key,
    steps: &'s RollupSteps,
    /// The requested range, restricted to what is shown.
    range: TimeRange,
    live: Live,
    form: Form,
    longest: i64,
    /// One total for each step with records.
    totals: Vec<Option<Total>>,
    turn: Turn,
    looked_outside: bool,
    /// The ids of buckets that are fully inside the range, but not inside one step.
    cut: Vec<Bson>,
    buckets: u64,
    opened: u64,
    /// The longest span of a bucket so far, in milliseconds.
    longest_seen: i64,
}

/// What the last plan requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Nothing,
    /// Every bucket, with items if a bound of the range cuts it.
    Parts,
    /// Buckets with their items.
    Opened,
}

/// The result for each step.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RollupTotals {
    /// Every step of the range, in order.
    pub steps: Vec<StepTotals>,
    /// The number of buckets with these records.
    pub buckets: u64,
    /// The number of those buckets whose items were read.
    pub opened: u64,
}

/// The result for the records of a step that are in the range.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StepTotals {
    /// The start of the step, which may be before the start of the range.
    pub start: DateTime,
    /// Its end, which it excludes and which may be after the end of the range.
    pub end: DateTime,
    /// The number of records.
    pub count: u64,
    /// Their aggregates; `None` if there are no records.
    pub stats: Option<StoredStats>,
}

impl<'s, T: Record> RollupReader<'s, T> {
    /// The rollup of this key. Pass the key's limits if they differ from the model's. Buckets may
    /// be as long as `at_least` milliseconds. Only shown records count.
    ///
    /// # Errors
    ///
    /// [`EncodeError::Limits`] if the limits are invalid.
    pub fn new(
        key: T::Key,
        steps: &'s RollupSteps,
        limits: Option<Limits>,
        at_least: i64,
        live: Live,
    ) -> Result<Self, EncodeError> {
        let own = T::SPEC.form();
        let form = limits.map_or(Ok(own), |limits| limits.apply(own))?;
        Ok(Self {
            key,
            steps,
            range: steps.range.and(live.range()),
            form,
            longest: live.longest(longest(T::SPEC, limits)?.max(at_least), steps.range),
            live,
            totals: (0..steps.len()).map(|_| None).collect(),
            turn: Turn::Nothing,
            looked_outside: false,
            cut: Vec::new(),
            buckets: 0,
            opened: 0,
            longest_seen: 0,
        })
    }

    /// The next read, if another one is needed. Pass each returned document to
    /// [`take`](Self::take).
    ///
    /// The first read requests all buckets of the range. Buckets that a bound between two steps
    /// cuts are read again with their items, and only this second read counts.
    pub fn next_plan(&mut self) -> Option<FindPlan> {
        let key = ReadKey::of::<T>(&self.key);
        let range = self.range;
        if self.turn != Turn::Nothing {
            let ids = self.next_ids();
            self.turn = Turn::Opened;
            let (longest, live) = (self.longest, &self.live);
            return (!ids.is_empty())
                .then(|| opened_by_id(T::SPEC, &key, range, longest, ids, live));
        }
        if self.steps.is_empty() || range.is_empty() {
            return None;
        }
        // A bucket without items may be inside a step.
        let opens_all = self.steps.cut_all(self.form) && !self.live.has_headers();
        let plan = if opens_all {
            self.turn = Turn::Opened;
            opened(T::SPEC, &key, range, self.longest, &self.live)
        } else {
            self.turn = Turn::Parts;
            parts(T::SPEC, &key, range, self.longest, &self.live)
        };
        Some(self.live.find_undated(T::SPEC, plan))
    }

    /// The find for buckets that the first plan does not find because their ids are not of the key, if there
    /// can be any. Run it together with that plan.
    pub fn plan_outside(&mut self) -> Option<FindPlan> {
        if std::mem::replace(&mut self.looked_outside, true) {
            return None;
        }
        let key = ReadKey::of::<T>(&self.key);
        let plan = parts_outside(T::SPEC, &key, self.range, self.longest, &self.live)?;
        Some(self.live.find_undated(T::SPEC, plan))
    }

    /// As many of the cut buckets as fit into one command.
    fn next_ids(&mut self) -> Vec<Bson> {
        let length = |id: &Bson| id.as_str().map_or(0, str::len);
        let parts = in_commands(&self.cut, MOST_IDS, length);
        let first = parts.first().map_or(0, |part| part.len());
        self.cut.drain(..first).collect()
    }

    /// Adds a bucket.
    ///
    /// # Errors
    ///
    /// [`DamagedBucket`] if it is not a bucket of the model.
    pub fn take(&mut self, stored: &RawDocument) -> Result<(), DamagedBucket> {
        self.add(stored).map_err(|damage| {
            let damage = with_span(T::SPEC, self.range, stored, damage);
            DamagedBucket::new(printed_id(stored), damage)
        })
    }

    fn add(&mut self, stored: &RawDocument) -> Result<(), Damage> {
        let range = self.range;
        let stored = &*unpacked(T::SPEC, range, stored)?;
        self.longest_seen = self.longest_seen.max(span(T::SPEC, stored)?);
        match Part::read(T::SPEC, range, stored)? {
            // Items were requested, but not returned.
            Part::Whole(..) if self.turn == Turn::Opened => {
                return Err(wrong_field(T::SPEC.items(), "an array"));
            }
            Part::Whole(stats, reach) => match reach.and_then(|reach| self.steps.of_both(reach)) {
                None => self.cut.push(id_of(stored)?),
                Some(at) => {
                    if let Some(total) = self.total(at) {
                        let before = total.count();
                        total.add_bucket(stats);
                        self.buckets += u64::from(total.count() > before);
                    }
                }
            },
            Part::Opened(items) => {
                let mut any = 0;
                let key = self.key.clone();
                each_record::<T>(&key, stored, items, |time, record| {
                    let at = self.steps.at(time).filter(|_| range.contains(time));
                    if let Some(total) = at.and_then(|at| self.total(at)) {
                        total.add_record(time, |sink| record.visit_inputs(sink));
                        any = 1;
                    }
                })?;
                self.buckets += any;
                self.opened += any;
            }
        }
        Ok(())
    }

    fn total(&mut self, at: usize) -> Option<&mut Total> {
        let total = self.totals.get_mut(at)?;
        Some(total.get_or_insert_with(|| Total::new(T::SPEC, self.form.size())))
    }

    /// The longest span of a bucket, in milliseconds, if it is longer than the read assumed. The
    /// read must then be repeated with it.
    #[must_use]
    pub fn longer(&self) -> Option<i64> {
        (self.longest_seen > self.longest).then_some(self.longest_seen)
    }

    /// The result for each step.
    ///
    /// # Errors
    ///
    /// [`SumOverflow`] if the sum of an aggregate exceeds what a number can hold.
    pub fn finish(self) -> Result<RollupTotals, SumOverflow> {
        let mut steps = Vec::with_capacity(self.steps.len());
        for ((start, end), total) in self.steps.spans.iter().copied().zip(self.totals) {
            let total = total.filter(|total| total.count() > 0);
            steps.push(StepTotals {
                start,
                end,
                count: total.as_ref().map_or(0, Total::count),
                stats: total.map(Total::finish).transpose()?,
            });
        }
        Ok(RollupTotals {
            steps,
            buckets: self.buckets,
            opened: self.opened,
        })
    }
}

fn id_of(stored: &RawDocument) -> Result<Bson, Damage> {
    match field(stored, ID)? {
        Some(RawBsonRef::String(id)) => Ok(Bson::String(id.to_owned())),
        Some(RawBsonRef::ObjectId(id)) => Ok(Bson::ObjectId(id)),
        _ => Err(wrong_field(ID, "a string or an object id")),
    }
}
