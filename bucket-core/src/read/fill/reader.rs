//! Reads how full buckets are.

use std::{fmt, marker::PhantomData};

use bson::{DateTime, RawBsonRef, RawDocument};

use super::{
    amount::Amount,
    classes::{Histogram, OF_BYTES, OF_CAPACITY, OF_RECORDS, class_within},
    facts::{
        self, BUCKETS, BY_BYTES, BY_CAPACITY, BY_RECORDS, BYTES, CAPACITY, COUNT, DUE, EXAMPLE,
        IS_DAMAGED, IS_EMPTY, IS_FULL, IS_MERGED, IS_OVER, KEY, LEAST, MOST, REMOVED, STATE,
    },
    report::{CapacityUse, FillReport},
    schedule::Schedule,
};
use crate::{
    bucket::{self, record::Record},
    codec::raw::printed_id,
    error::EncodeError,
    model::{form::Form, limits::Limits, spec::ID, whole},
    read::{AggregatePlan, key_document},
};

/// What decides the limits of a key.
type LimitsOf<'a, T> = &'a (dyn Fn(&<T as Record>::Key) -> Option<Limits> + Send + Sync);

/// A read of how full buckets are, without I/O.
pub struct FillReader<'a, T: Record> {
    plan: AggregatePlan,
    form: Form,
    /// Of each key, if they are not the same for all.
    limits: Option<LimitsOf<'a, T>>,
    schedule: Option<Schedule>,
    report: FillReport,
    places: u64,
    used: u64,
    range: Option<(f64, f64)>,
    by_percent: Histogram,
    by_records: Histogram,
    by_bytes: Histogram,
    record: PhantomData<fn() -> T>,
}

impl<T: Record> fmt::Debug for FillReader<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = &self.plan;
        f.debug_struct("FillReader")
            .field("plan", plan)
            .finish_non_exhaustive()
    }
}

impl<'a, T: Record> FillReader<'a, T> {
    /// For all keys, which have these limits if they are not the same for all.
    #[must_use]
    pub fn new(limits: Option<LimitsOf<'a, T>>, now: DateTime) -> Self {
        let form = T::SPEC.form();
        let limits = limits.filter(|_| form.hides_capacity());
        Self::of(form, limits, None, now)
    }

    /// For this key, which has these limits.
    ///
    /// # Errors
    ///
    /// [`EncodeError`] for limits that no bucket can have.
    pub fn of_key(
        key: &T::Key,
        limits: Option<Limits>,
        now: DateTime,
    ) -> Result<Self, EncodeError> {
        let form = match limits {
            None => T::SPEC.form(),
            Some(limits) => limits.apply(T::SPEC.form())?,
        };
        Ok(Self::of(form, None, Some(key), now))
    }

    fn of(
        form: Form,
        limits: Option<LimitsOf<'a, T>>,
        key: Option<&T::Key>,
        now: DateTime,
    ) -> Self {
        let spec = T::SPEC;
        let schedule = Schedule::new(spec, form.longest_span(), now);
        let mut pipeline = facts::stages(spec, form, schedule.as_ref(), now, limits.is_some());
        let mut hint = String::new();
        if let Some(key) = key {
            let of_key = bson::doc! { "$match": key_document::<T>(key) };
            pipeline.insert(0, of_key);
            hint = spec.pages_index_name();
        }
        Self {
            plan: AggregatePlan {
                pipeline,
                hint,
                spills: true,
            },
            form,
            limits,
            schedule,
            report: FillReport::default(),
            places: 0,
            used: 0,
            range: None,
            by_percent: Histogram::new(OF_CAPACITY),
            by_records: Histogram::new(OF_RECORDS),
            by_bytes: Histogram::new(OF_BYTES),
            record: PhantomData,
        }
    }

    /// The aggregation that gives the rows.
    #[must_use]
    pub fn plan(&self) -> AggregatePlan {
        self.plan.clone()
    }

    /// Takes a row.
    pub fn take(&mut self, row: &RawDocument) {
        let Ok(of) = row.get_document(ID) else {
            return;
        };
        let amount = Amount {
            buckets: number(row, BUCKETS),
            records: number(row, COUNT).saturating_sub(number(row, REMOVED)),
            bytes: number(row, BYTES),
        };
        let state = of.get_str(STATE).unwrap_or(IS_DAMAGED);
        let report = &mut self.report;
        match state {
            IS_EMPTY => {
                report.empty = report.empty.saturating_add(amount.buckets);
                return;
            }
            IS_DAMAGED => {
                report.damaged = report.damaged.saturating_add(amount.buckets);
                report.damaged_bytes = report.damaged_bytes.saturating_add(amount.bytes);
                if let (None, Ok(example)) = (&report.damaged_example, row.get_document(EXAMPLE)) {
                    report.damaged_example = Some(printed_id(example));
                }
                return;
            }
            _ => {}
        }
        let use_of = self.use_of(row, of, state);
        let report = &mut self.report;
        report.buckets = report.buckets.saturating_add(amount.buckets);
        report.records = report.records.saturating_add(amount.records);
        report.removed = report.removed.saturating_add(number(row, REMOVED));
        report.bytes = report.bytes.saturating_add(amount.bytes);
        let by_state = match use_of.state {
            IS_FULL => &mut report.full,
            IS_OVER => &mut report.over,
            _ => &mut report.open,
        };
        by_state.add(amount);
        self.by_records.add(class(of, BY_RECORDS), amount.buckets);
        self.by_bytes.add(class(of, BY_BYTES), amount.buckets);
        if let Some((least, most)) = use_of.range {
            self.places = self.places.saturating_add(use_of.places);
            self.used = self.used.saturating_add(number(row, COUNT));
            self.by_percent.add(use_of.class, amount.buckets);
            let (lowest, highest) = self.range.unwrap_or((least, most));
            self.range = Some((lowest.min(least), highest.max(most)));
        }
        if let Some(schedule) = &mut self.schedule {
            schedule.add(of.get(DUE).ok().flatten(), amount);
        }
    }

    /// How the buckets of a row use their capacity: as the server says, or by the limits of their key.
    fn use_of<'r>(&self, row: &RawDocument, of: &RawDocument, state: &'r str) -> UseOf<'r> {
        let double = |name: &str| row.get(name).ok().flatten().and_then(RawBsonRef::as_f64);
        let by_server = UseOf {
            state,
            places: number(row, CAPACITY),
            class: class(of, BY_CAPACITY),
            range: double(LEAST).zip(double(MOST)),
        };
        let Some(limits) = self.limits else {
            return by_server;
        };
        let key = row.get_document(KEY).ok();
        // A key that cannot be read, and limits that no bucket has, are those of no writer.
        let limits = key.and_then(|key| limits(&bucket::key_of::<T>(key).ok()?));
        let form = limits.and_then(|limits| limits.apply(self.form).ok());
        let form = form.unwrap_or(self.form);
        let count = number(row, COUNT);
        let full_with = T::SPEC.full_with(form);
        let full_with = full_with.and_then(|most| u64::try_from(most).ok());
        let is_full = full_with.is_some_and(|most| count >= most);
        // A merged bucket has none, whatever the limits of its key are.
        let is_merged = row.get_bool(IS_MERGED).unwrap_or(false);
        let capacity = form.capacity().filter(|_| !is_merged).map(u64::from);
        let part = capacity.map(|capacity| part(count, capacity));
        UseOf {
            state: if is_full { IS_FULL } else { state },
            places: capacity.unwrap_or_default(),
            class: capacity.map_or(0, |capacity| class_within(count, capacity)),
            range: part.zip(part),
        }
    }

    /// What was read.
    #[must_use]
    pub fn finish(self) -> FillReport {
        let (places, used) = (self.places, self.used);
        let by_percent = self.by_percent.classes();
        let capacity = self.range.map(|(least, most)| CapacityUse {
            places,
            used,
            least,
            most,
            by_percent,
        });
        FillReport {
            capacity,
            by_records: self.by_records.classes(),
            by_bytes: self.by_bytes.classes(),
            expiry: self.schedule.map(Schedule::finish),
            ..self.report
        }
    }
}

/// How the buckets of a row use their capacity.
struct UseOf<'r> {
    state: &'r str,
    places: u64,
    class: i64,
    /// The least and the greatest part; `None` without a capacity.
    range: Option<(f64, f64)>,
}

#[allow(clippy::cast_precision_loss, reason = "both are far below 2^53")]
fn part(count: u64, capacity: u64) -> f64 {
    count as f64 / capacity as f64
}

fn number(row: &RawDocument, name: &str) -> u64 {
    let number = row.get(name).ok().flatten().and_then(whole::of_raw);
    number.map_or(0, |number| u64::try_from(number).unwrap_or(0))
}

/// The class of a row. The server gives one.
fn class(of: &RawDocument, name: &str) -> i64 {
    let class = of.get(name).ok().flatten().and_then(whole::of_raw);
    class.unwrap_or(0)
}
