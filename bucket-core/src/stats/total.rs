//! Adding up: the aggregates of whole buckets and single records become those of all of them.

use std::{cmp::Ordering, collections::BTreeMap};

use bson::DateTime;

use super::{StoredStats, Value, sum::Sum};
use crate::{
    aggregate::{AggregateKind, InputSink, NonFinite},
    error::SumOverflow,
    fold::SumLimits,
    key::KeyValue,
    measure::Number,
    sketch::Sketch,
    spec::BucketSpec,
    tally,
};

/// What the records taken in so far come to.
#[derive(Debug)]
pub(crate) struct Total {
    spec: &'static BucketSpec,
    /// The largest number of records in a bucket, which decides what `non_finite = "skip"` skips.
    size: u32,
    /// Made with the first record.
    limits: Vec<SumLimits>,
    /// In the order of the model.
    states: Vec<State>,
    count: u64,
}

/// What came to one aggregate. An ordering says which of two is kept: the less or the greater.
#[derive(Debug)]
enum State {
    Extreme(Ordering, Option<Number>),
    Sum(Sum),
    Squares(Sum),
    Count(u64),
    Tally(BTreeMap<String, u64>),
    Sketch(Sketch),
    Time(Ordering, Option<DateTime>),
    InTime(Ordering, Option<(DateTime, Number)>),
    /// Computed in the end.
    Average,
}

impl Total {
    /// Of nothing yet, in buckets of at most `size` records.
    pub(crate) fn new(spec: &'static BucketSpec, size: u32) -> Self {
        let states = spec.aggregates().iter().map(|each| State::new(each.kind));
        Self {
            spec,
            size,
            limits: Vec::new(),
            states: states.collect(),
            count: 0,
        }
    }

    /// Takes in a whole bucket.
    pub(crate) fn add_bucket(&mut self, stats: StoredStats) {
        self.count = self.count.saturating_add(stats.count);
        for (state, value) in self.states.iter_mut().zip(stats.values) {
            if let Some(value) = value {
                state.merge(value);
            }
        }
    }

    /// Takes in a single record, as the bucket did when it was stored.
    pub(crate) fn add_record(&mut self, time: DateTime, visit: impl FnOnce(&mut dyn InputSink)) {
        self.count = self.count.saturating_add(1);
        if self.limits.is_empty() {
            let inputs = 0..self.spec.inputs().len();
            let limits = inputs.map(|input| SumLimits::of(self.spec, input, self.size));
            self.limits = limits.collect();
        }
        for state in &mut self.states {
            if let State::Time(keep, best) = state {
                keep_best(best, time, |a, b| a.cmp(b) == *keep);
            }
        }
        visit(&mut Row {
            total: self,
            next: 0,
            time,
        });
    }

    /// The number of records taken in.
    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    /// The aggregates of all of them.
    pub(crate) fn finish(self) -> Result<StoredStats, SumOverflow> {
        let aggregates = self.spec.aggregates();
        let mut values = Vec::with_capacity(aggregates.len());
        for (aggregate, state) in aggregates.iter().zip(self.states) {
            let value = state.finish(self.count > 0);
            values.push(value.map_err(|_| SumOverflow::new(aggregate.path))?);
        }
        let mut stats = StoredStats {
            values,
            count: self.count,
        };
        for (at, aggregate) in aggregates.iter().enumerate() {
            if let AggregateKind::Avg { sum, count } = aggregate.kind {
                let average = stats.avg(sum, count);
                stats.values[at] = average.map(|value| Value::Number(Number::Float(value)));
            }
        }
        Ok(stats)
    }
}

/// Takes the values of one record.
struct Row<'a> {
    total: &'a mut Total,
    next: usize,
    time: DateTime,
}

impl Row<'_> {
    /// The states of the next input, with their kinds.
    fn each(&mut self, mut take: impl FnMut(AggregateKind, &mut State)) {
        let input = self.next;
        self.next += 1;
        let aggregates = self.total.spec.aggregates().iter();
        for (aggregate, state) in aggregates.zip(&mut self.total.states) {
            if aggregate.input == input {
                take(aggregate.kind, state);
            }
        }
    }

    /// Whether the aggregates of a bucket take this value of the next input. Where values that are
    /// not finite are refused when they are written, every finite one that is stored counts.
    fn takes(&self, number: Number) -> bool {
        let Number::Float(value) = number else {
            return true;
        };
        let inputs = self.total.spec.inputs();
        match (inputs.get(self.next), self.total.limits.get(self.next)) {
            (Some(input), Some(limits)) if input.non_finite == NonFinite::Skip => {
                limits.take_float(value)
            }
            _ => value.is_finite(),
        }
    }
}

impl InputSink for Row<'_> {
    fn number(&mut self, value: Option<Number>) {
        let value = value.filter(|value| self.takes(*value));
        let time = self.time;
        self.each(|_, state| {
            if let Some(value) = value {
                state.add(value, time);
            }
        });
    }

    fn flag(&mut self, value: bool) {
        self.each(|_, state| {
            if let State::Count(count) = state {
                *count = count.saturating_add(u64::from(value));
            }
        });
    }

    fn tally(&mut self, value: KeyValue<'_>) {
        let mut name = String::new();
        tally::push_name(&mut name, value);
        self.each(|_, state| {
            if let State::Tally(counters) = state {
                count_in(counters, &name, 1);
            }
        });
    }
}

impl State {
    const fn new(kind: AggregateKind) -> Self {
        match kind {
            AggregateKind::Min => Self::Extreme(Ordering::Less, None),
            AggregateKind::Max => Self::Extreme(Ordering::Greater, None),
            AggregateKind::Sum => Self::Sum(Sum::NOTHING),
            AggregateKind::SumOfSquares => Self::Squares(Sum::NOTHING),
            AggregateKind::Avg { .. } => Self::Average,
            AggregateKind::Count | AggregateKind::CountIf => Self::Count(0),
            AggregateKind::Tally => Self::Tally(BTreeMap::new()),
            AggregateKind::First => Self::InTime(Ordering::Less, None),
            AggregateKind::Last => Self::InTime(Ordering::Greater, None),
            AggregateKind::FirstTime => Self::Time(Ordering::Less, None),
            AggregateKind::LastTime => Self::Time(Ordering::Greater, None),
            AggregateKind::Percentiles { error_ppm } => Self::Sketch(Sketch::new(error_ppm)),
        }
    }

    /// Takes in the aggregate of a bucket.
    fn merge(&mut self, value: Value) {
        match (self, value) {
            (Self::Extreme(keep, best), Value::Number(value)) => {
                keep_best(best, value, |a, b| a.compare(*b) == *keep);
            }
            (Self::Sum(sum) | Self::Squares(sum), Value::Number(value)) => sum.add(value),
            (Self::Count(count), Value::Count(more)) => *count = count.saturating_add(more),
            (Self::Tally(counters), Value::Tally(more)) => {
                for (name, count) in more {
                    count_in(counters, &name, count);
                }
            }
            (Self::Sketch(sketch), Value::Sketches(more)) => {
                for more in &more {
                    sketch.merge(more);
                }
            }
            (Self::Time(keep, best), Value::Time(time)) => {
                keep_best(best, time, |a, b| a.cmp(b) == *keep);
            }
            (Self::InTime(keep, best), Value::InTime(time, value)) => {
                keep_best(best, (time, value), |a, b| in_time(a, b) == *keep);
            }
            // Values were read by the kind of their aggregate, and an average is computed anew.
            _ => {}
        }
    }

    /// Takes in the value of a record.
    fn add(&mut self, value: Number, time: DateTime) {
        match self {
            Self::Squares(sum) => sum.add(Number::Float(value.to_f64() * value.to_f64())),
            Self::Count(count) => *count = count.saturating_add(1),
            Self::Sketch(sketch) => sketch.add(value.to_f64()),
            Self::InTime(..) => self.merge(Value::InTime(time, value)),
            _ => self.merge(Value::Number(value)),
        }
    }

    /// The value, as a bucket with records or without any would have it.
    fn finish(self, any: bool) -> Result<Option<Value>, super::sum::TooLarge> {
        Ok(match self {
            Self::Extreme(_, best) => best.map(Value::Number),
            Self::Sum(sum) | Self::Squares(sum) => sum.total()?.map(Value::Number),
            Self::Count(count) => any.then_some(Value::Count(count)),
            Self::Tally(counters) if counters.is_empty() => None,
            Self::Tally(counters) => Some(Value::Tally(counters.into_iter().collect())),
            Self::Sketch(sketch) if sketch.count() == 0 => None,
            Self::Sketch(sketch) => Some(Value::Sketches(vec![sketch])),
            Self::Time(_, best) => best.map(Value::Time),
            Self::InTime(_, best) => best.map(|(time, value)| Value::InTime(time, value)),
            Self::Average => None,
        })
    }
}

/// The time decides, then the value, as documents compare.
fn in_time(a: &(DateTime, Number), b: &(DateTime, Number)) -> Ordering {
    a.0.cmp(&b.0).then(a.1.compare(b.1))
}

fn keep_best<T>(best: &mut Option<T>, value: T, is_better: impl Fn(&T, &T) -> bool) {
    if best.as_ref().is_none_or(|best| is_better(&value, best)) {
        *best = Some(value);
    }
}

fn count_in(counters: &mut BTreeMap<String, u64>, name: &str, more: u64) {
    match counters.get_mut(name) {
        Some(count) => *count = count.saturating_add(more),
        None => drop(counters.insert(name.to_owned(), more)),
    }
}
