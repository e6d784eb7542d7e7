//! Adds up the aggregates of whole buckets and of single records.

use std::borrow::Cow;

use bson::DateTime;

use super::{Accumulator, StoredStats, Value, contribution::SumLimits, tally};
use crate::{
    error::SumOverflow,
    model::{
        aggregate::{AggregateKind, InputSink, NonFinite},
        key::KeyValue,
        measure::Number,
        spec::BucketSpec,
    },
};

/// The running total of all records so far.
#[derive(Debug)]
pub(crate) struct Total {
    spec: &'static BucketSpec,
    /// The largest number of records in a bucket, which decides what `non_finite = "skip"` skips.
    size: u32,
    /// Made with the first record.
    limits: Vec<SumLimits>,
    /// In the order of the model.
    states: Vec<Accumulator<'static>>,
    count: u64,
}

impl Total {
    /// An empty total, for buckets of at most `size` records.
    pub(crate) fn new(spec: &'static BucketSpec, size: u32) -> Self {
        let states = spec.aggregates().iter();
        let states = states.map(|each| Accumulator::new(each.kind));
        Self {
            spec,
            size,
            limits: Vec::new(),
            states: states.collect(),
            count: 0,
        }
    }

    /// Adds a whole bucket.
    pub(crate) fn add_bucket(&mut self, stats: StoredStats) {
        self.count = self.count.saturating_add(stats.count);
        for (state, value) in self.states.iter_mut().zip(stats.values) {
            if let Some(value) = value {
                state.merge(value);
            }
        }
    }

    /// Adds a single record, as its bucket did when it was stored.
    pub(crate) fn add_record(&mut self, time: DateTime, visit: impl FnOnce(&mut dyn InputSink)) {
        self.count = self.count.saturating_add(1);
        if self.limits.is_empty() {
            let inputs = 0..self.spec.inputs().len();
            let limits = inputs.map(|input| SumLimits::of(self.spec, input, self.size));
            self.limits = limits.collect();
        }
        for state in &mut self.states {
            state.add_time(time);
        }
        visit(&mut Row {
            total: self,
            next: 0,
            time,
        });
    }

    /// The number of records added.
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

/// Adds the values of one record.
struct Row<'a> {
    total: &'a mut Total,
    next: usize,
    time: DateTime,
}

impl Row<'_> {
    /// The states of the next input.
    fn each(&mut self, mut take: impl FnMut(&mut Accumulator<'static>)) {
        let input = self.next;
        self.next += 1;
        let aggregates = self.total.spec.aggregates().iter();
        for (aggregate, state) in aggregates.zip(&mut self.total.states) {
            if aggregate.input == input {
                take(state);
            }
        }
    }

    /// Whether the aggregates of a bucket include this value of the next input. In models that
    /// refuse non-finite values on write, every finite stored value counts.
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
        self.each(|state| {
            if let Some(value) = value {
                state.add(value, time);
            }
        });
    }

    fn flag(&mut self, value: bool) {
        self.each(|state| state.add_flag(value));
    }

    fn tally(&mut self, value: KeyValue<'_>) {
        let mut name = String::new();
        tally::push_name(&mut name, value);
        self.each(|state| state.add_name(Cow::Owned(name.clone()), 1));
    }
}
