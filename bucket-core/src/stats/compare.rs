//! Compares the aggregates that a bucket stores with those of its items.

use std::collections::BTreeMap;

use super::{StoredStats, Value, sketch::Sketch};
use crate::model::{
    aggregate::{AggregateKind, InputSink},
    key::KeyValue,
    measure::Number,
    spec::BucketSpec,
};

/// An aggregate that is not that of the items.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Difference {
    /// Its path in the bucket.
    pub(crate) path: &'static str,
    /// What is stored; `None` if nothing is.
    pub(crate) stored: Option<String>,
    /// What the items have; `None` if they have no such values.
    pub(crate) expected: Option<String>,
}

/// How large the values of a bucket are: the measure of what rounding can do to their sums.
#[derive(Debug, Default)]
pub(crate) struct Magnitudes {
    next: usize,
    /// For each input: the number of its values, the sum of their magnitudes, and of their squares.
    inputs: Vec<(f64, f64, f64)>,
}

impl Magnitudes {
    /// Starts the next record.
    pub(crate) fn begin(&mut self) {
        self.next = 0;
    }

    /// How much two sums of these values can differ. Each addition rounds by at most half of the
    /// last place of its result, which is at most the sum of the magnitudes. A bucket adds its `n`
    /// values in less than `n` additions, in any order and grouping, so two such sums differ by less
    /// than `n` times the last place: 2^-52 of that sum. Twice that also covers the rounding of this
    /// bound.
    fn tolerance(&self, input: usize, squares: bool) -> f64 {
        let (count, sum, of_squares) = self.inputs.get(input).copied().unwrap_or_default();
        2.0 * f64::EPSILON * count * if squares { of_squares } else { sum }
    }

    /// The number of values.
    fn count(&self, input: usize) -> f64 {
        self.inputs.get(input).map_or(0.0, |of| of.0)
    }
}

impl InputSink for Magnitudes {
    fn number(&mut self, value: Option<Number>) {
        let at = self.next;
        self.next += 1;
        if self.inputs.len() <= at {
            self.inputs.resize(at + 1, (0.0, 0.0, 0.0));
        }
        let value = value.map(Number::to_f64).filter(|value| value.is_finite());
        if let (Some(value), Some(of)) = (value, self.inputs.get_mut(at)) {
            of.0 += 1.0;
            of.1 += value.abs();
            of.2 += value * value;
        }
    }

    fn flag(&mut self, _: bool) {
        self.next += 1;
    }

    fn tally(&mut self, _: KeyValue<'_>) {
        self.next += 1;
    }
}

/// The stored aggregates that are not the expected ones.
pub(crate) fn differences(
    spec: &BucketSpec,
    stored: &StoredStats,
    expected: &StoredStats,
    magnitudes: &Magnitudes,
) -> Vec<Difference> {
    let mut found = Vec::new();
    for (at, aggregate) in spec.aggregates().iter().enumerate() {
        let (own, right) = (stored.get(at), expected.get(at));
        let tolerance = match aggregate.kind {
            AggregateKind::Sum => magnitudes.tolerance(aggregate.input, false),
            AggregateKind::SumOfSquares => magnitudes.tolerance(aggregate.input, true),
            AggregateKind::Avg { .. } => {
                let count = magnitudes.count(aggregate.input).max(1.0);
                // The division rounds too, of both.
                let rounding = right.map_or(0.0, |of| as_number(of).abs() * 2.0 * f64::EPSILON);
                magnitudes.tolerance(aggregate.input, false) / count + rounding
            }
            _ => 0.0,
        };
        let is_same = match (own, right) {
            (None, None) => true,
            (Some(own), Some(right)) => are_same(own, right, tolerance),
            (Some(own), None) => is_nothing(own),
            (None, Some(_)) => false,
        };
        if !is_same {
            let text = |value: &Value| value.to_bson().to_string();
            found.push(Difference {
                path: aggregate.path,
                stored: own.map(text),
                expected: right.map(text),
            });
        }
    }
    found
}

fn as_number(value: &Value) -> f64 {
    match value {
        Value::Number(number) => number.to_f64(),
        _ => 0.0,
    }
}

/// Whether it is what no values add up to.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.to_f64() == 0.0,
        Value::Count(count) => *count == 0,
        Value::Tally(counters) => counters.iter().all(|(_, count)| *count == 0),
        Value::Sketches(sketches) => sketches.iter().all(|sketch| sketch.count() == 0),
        Value::Time(_) | Value::InTime(..) => false,
    }
}

fn are_same(stored: &Value, expected: &Value, tolerance: f64) -> bool {
    match (stored, expected) {
        (Value::Number(stored), Value::Number(expected)) => {
            let is_close = || {
                let (stored, expected) = (stored.to_f64(), expected.to_f64());
                tolerance > 0.0 && (stored - expected).abs() <= tolerance
            };
            let are_integers = matches!((stored, expected), (Number::Int(_), Number::Int(_)));
            stored.compare(*expected).is_eq() || (!are_integers && is_close())
        }
        (Value::Count(stored), Value::Count(expected)) => stored == expected,
        (Value::Tally(stored), Value::Tally(expected)) => counters(stored) == counters(expected),
        (Value::Sketches(stored), Value::Sketches(expected)) => sketches_are_same(stored, expected),
        (Value::Time(stored), Value::Time(expected)) => stored == expected,
        (Value::InTime(at, stored), Value::InTime(when, expected)) => {
            at == when && stored.compare(*expected).is_eq()
        }
        _ => false,
    }
}

fn counters(of: &[(String, u64)]) -> BTreeMap<&str, u64> {
    let counters = of.iter().filter(|(_, count)| *count > 0);
    counters.map(|(name, count)| (&**name, *count)).collect()
}

/// A bucket may have a sketch of an error that the model had before. Nothing says which values are
/// in which, so only the number of values is compared.
fn sketches_are_same(stored: &[Sketch], expected: &[Sketch]) -> bool {
    fn all(of: &[Sketch]) -> impl Iterator<Item = &Sketch> {
        of.iter().filter(|sketch| sketch.count() > 0)
    }
    let (mut one, mut other) = (all(stored), all(expected));
    if let (Some(only), None, Some(right), None) =
        (one.next(), one.next(), other.next(), other.next())
        && only.error_ppm() == right.error_ppm()
    {
        let bins = |of: &Sketch| -> Vec<_> { of.bins().filter(|(_, count)| *count > 0).collect() };
        return bins(only) == bins(right);
    }
    let count = |of: &[Sketch]| -> u64 { all(of).map(Sketch::count).sum() };
    count(stored) == count(expected)
}
