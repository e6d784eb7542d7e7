//! The running state of one aggregate, for the statement that adds records and for reads.

use std::{borrow::Cow, cmp::Ordering, collections::BTreeMap};

use bson::DateTime;

use super::{
    Value,
    sketch::{self, Sketch},
    sum::{Sum, TooLarge},
};
use crate::{
    codec::raw::Operand,
    model::{aggregate::AggregateKind, measure::Number},
};

/// The running state of one aggregate. The ordering says which value is kept: the less or the
/// greater.
#[derive(Debug)]
pub(crate) enum Accumulator<'a> {
    Extreme(Ordering, Option<Number>),
    Sum(Sum),
    Squares(Sum),
    Count(u64),
    Tally(BTreeMap<Cow<'a, str>, u64>),
    Sketch(Sketch),
    Time(Ordering, Option<DateTime>),
    InTime(Ordering, Option<(DateTime, Number)>),
    /// Computed at the end.
    Average,
}

impl<'a> Accumulator<'a> {
    pub(crate) const fn new(kind: AggregateKind) -> Self {
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

    /// Adds the aggregate of a bucket.
    pub(super) fn merge(&mut self, value: Value) {
        match (self, value) {
            (Self::Sum(sum) | Self::Squares(sum), Value::Number(value)) => sum.add(value),
            (Self::Extreme(keep, best), Value::Number(value)) => keep_number(*keep, best, value),
            (Self::Count(count), Value::Count(more)) => *count = count.saturating_add(more),
            (tally @ Self::Tally(_), Value::Tally(more)) => {
                for (name, count) in more {
                    tally.add_name(Cow::Owned(name), count);
                }
            }
            (Self::Sketch(sketch), Value::Sketches(more)) => {
                for more in &more {
                    sketch.merge(more);
                }
            }
            (state @ Self::Time(..), Value::Time(time)) => state.add_time(time),
            (Self::InTime(keep, best), Value::InTime(time, value)) => {
                keep_in_time(*keep, best, (time, value));
            }
            // Values were read by the kind of their aggregate, and averages are recomputed.
            _ => {}
        }
    }

    /// Adds the value of a record.
    pub(crate) fn add(&mut self, value: Number, time: DateTime) {
        match self {
            Self::Extreme(keep, best) => keep_number(*keep, best, value),
            Self::Sum(sum) => sum.add(value),
            Self::Squares(sum) => sum.add(Number::Float(value.to_f64() * value.to_f64())),
            Self::Count(count) => *count = count.saturating_add(1),
            Self::Sketch(sketch) => sketch.add(value.to_f64()),
            Self::InTime(keep, best) => keep_in_time(*keep, best, (time, value)),
            Self::Tally(_) | Self::Time(..) | Self::Average => {}
        }
    }

    /// Adds whether the counted condition holds for a record.
    pub(crate) fn add_flag(&mut self, flag: bool) {
        if let Self::Count(count) = self {
            *count = count.saturating_add(u64::from(flag));
        }
    }

    /// Adds this many records whose value has this name.
    pub(crate) fn add_name(&mut self, name: Cow<'a, str>, more: u64) {
        if let Self::Tally(counters) = self {
            let count = counters.entry(name).or_default();
            *count = count.saturating_add(more);
        }
    }

    /// Adds the time of a record.
    pub(crate) fn add_time(&mut self, time: DateTime) {
        if let Self::Time(keep, best) = self
            && best.is_none_or(|best| time.cmp(&best) == *keep)
        {
            *best = Some(time);
        }
    }

    /// The value that a bucket would have, with records or without any.
    pub(super) fn finish(self, any: bool) -> Result<Option<Value>, TooLarge> {
        Ok(match self {
            Self::Extreme(_, best) => best.map(Value::Number),
            Self::Sum(sum) | Self::Squares(sum) => sum.total()?.map(Value::Number),
            Self::Count(count) => any.then_some(Value::Count(count)),
            Self::Tally(counters) if counters.is_empty() => None,
            Self::Tally(counters) => {
                let counters = counters.into_iter();
                let owned = counters.map(|(name, count)| (name.into_owned(), count));
                Some(Value::Tally(owned.collect()))
            }
            Self::Sketch(sketch) if sketch.count() == 0 => None,
            Self::Sketch(sketch) => Some(Value::Sketches(vec![sketch])),
            Self::Time(_, best) => best.map(Value::Time),
            Self::InTime(_, best) => best.map(|(time, value)| Value::InTime(time, value)),
            Self::Average => None,
        })
    }

    /// An upper bound for the size of the counters that a statement adds at this path, in bytes.
    pub(crate) fn size(&self, path: &str) -> usize {
        match self {
            Self::Tally(counters) => {
                let names = counters.keys();
                names.map(|name| path.len() + name.len() + 8).sum()
            }
            Self::Sketch(sketch) => sketch.bins().count() * (path.len() + 32),
            _ => 0,
        }
    }

    /// What a statement adds to the aggregate of a bucket.
    pub(crate) fn each_sum(
        &self,
        path: &'static str,
        each: &mut impl FnMut(Cow<'static, str>, Operand<'static>),
    ) {
        match self {
            Self::Sum(sum) | Self::Squares(sum) => {
                if let Some(sum) = sum.in_order() {
                    each(path.into(), Operand::Number(sum));
                }
            }
            Self::Count(count) => each(path.into(), counter(*count)),
            Self::Tally(counters) => {
                for (name, count) in counters {
                    each(format!("{path}.{name}").into(), counter(*count));
                }
            }
            Self::Sketch(sketch) => {
                let error = sketch::name(sketch.error_ppm());
                for (bin, count) in sketch.bins() {
                    let path = format!("{path}.{error}.{}", bin.name());
                    each(path.into(), counter(count));
                }
            }
            _ => {}
        }
    }

    /// The value that replaces a bucket's aggregate if that has this order to it.
    pub(crate) fn extreme(&self, order: Ordering) -> Option<Operand<'static>> {
        match self {
            Self::Extreme(keep, best) if *keep == order => best.map(Operand::Number),
            Self::Time(keep, best) if *keep == order => best.map(Operand::date),
            Self::InTime(keep, best) if *keep == order => {
                best.map(|(time, value)| Operand::InTime(time.timestamp_millis(), value))
            }
            _ => None,
        }
    }
}

/// A statement takes no more records than a bucket.
fn counter(count: u64) -> Operand<'static> {
    Operand::Int32(i32::try_from(count).unwrap_or(i32::MAX))
}

fn keep_number(keep: Ordering, best: &mut Option<Number>, value: Number) {
    if best.is_none_or(|best| value.compare(best) == keep) {
        *best = Some(value);
    }
}

/// The time decides, then the value, as when documents are compared.
fn keep_in_time(
    keep: Ordering,
    best: &mut Option<(DateTime, Number)>,
    (time, value): (DateTime, Number),
) {
    let order = |(at, other): (DateTime, Number)| time.cmp(&at).then_with(|| value.compare(other));
    if best.is_none_or(|best| order(best) == keep) {
        *best = Some((time, value));
    }
}
