//! Folding: what the records of one statement add to the aggregates of their bucket.
//!
//! The encoder reads each record's values once and checks them: folded values are finite, and so
//! small that no sum over a full bucket exceeds 64 bits.

use std::{borrow::Cow, cmp::Ordering};

use bson::DateTime;

use super::tally;
use crate::{
    codec::raw::Operand,
    error::EncodeError,
    model::{
        aggregate::{AggregateKind, InputSink, NonFinite},
        key::KeyValue,
        measure::Number,
        spec::BucketSpec,
    },
    stats::Accumulator,
};

/// A value of a record that has aggregates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum InputValue {
    None,
    Number(Number),
    Flag(bool),
    /// A range of [`Inputs::names`].
    Name(usize, usize),
}

/// The values of all records of a batch, a row for each record.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    values: Vec<InputValue>,
    names: String,
    /// The size limits of values in buckets of this size.
    limits: Vec<SumLimits>,
    limits_of: u32,
}

/// A position to roll back to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InputMark {
    values: usize,
    names: usize,
}

impl Inputs {
    /// The row of the `index`-th record.
    fn row(&self, spec: &BucketSpec, index: usize) -> &[InputValue] {
        let width = spec.inputs().len();
        self.values
            .get(index * width..(index + 1) * width)
            .unwrap_or_default()
    }

    /// Takes the values of a record whose bucket holds at most `size` records. Returns the bytes
    /// that its tallied values take.
    ///
    /// On an error, nothing is taken.
    pub(crate) fn push(
        &mut self,
        spec: &'static BucketSpec,
        size: u32,
        visit: impl FnOnce(&mut dyn InputSink),
    ) -> Result<usize, EncodeError> {
        let before = self.mark();
        self.set_limits(spec, size.max(1));
        let mut row = Row {
            spec,
            next: 0,
            inputs: self,
            refused: None,
        };
        visit(&mut row);
        let refused = row.refused;
        match refused {
            None => {
                let width = spec.inputs().len();
                self.values.resize(before.values + width, InputValue::None);
                Ok(self.names.len() - before.names)
            }
            Some(error) => {
                self.go_back_to(before);
                Err(error)
            }
        }
    }

    pub(crate) fn mark(&self) -> InputMark {
        InputMark {
            values: self.values.len(),
            names: self.names.len(),
        }
    }

    /// Removes the records after the mark.
    pub(crate) fn go_back_to(&mut self, mark: InputMark) {
        self.values.truncate(mark.values);
        self.names.truncate(mark.names);
    }

    /// Appends the rows of another batch.
    pub(crate) fn join(&mut self, other: Self) {
        let behind = self.names.len();
        self.names.push_str(&other.names);
        self.values
            .extend(other.values.into_iter().map(|value| match value {
                InputValue::Name(start, end) => InputValue::Name(start + behind, end + behind),
                value => value,
            }));
    }

    /// Most records of a batch share the limits.
    fn set_limits(&mut self, spec: &BucketSpec, size: u32) {
        if self.limits_of != size {
            let inputs = 0..spec.inputs().len();
            self.limits = inputs
                .map(|input| SumLimits::of(spec, input, size))
                .collect();
            self.limits_of = size;
        }
    }
}

/// Takes the values of one record.
struct Row<'a> {
    spec: &'static BucketSpec,
    next: usize,
    inputs: &'a mut Inputs,
    refused: Option<EncodeError>,
}

impl InputSink for Row<'_> {
    fn number(&mut self, value: Option<Number>) {
        let input = self.spec.inputs().get(self.next);
        let input = input.zip(self.inputs.limits.get(self.next));
        self.next += 1;
        let taken = match (value, input) {
            (Some(Number::Float(value)), Some((input, limits))) if !limits.take_float(value) => {
                if input.non_finite == NonFinite::Reject {
                    let field = input.field;
                    self.refused
                        .get_or_insert(EncodeError::NonFinite { field, value });
                }
                InputValue::None
            }
            (Some(Number::Int(value)), Some((input, limits))) if !limits.take_int(value) => {
                self.refused.get_or_insert(EncodeError::Overflow {
                    field: input.field,
                    value,
                    limit: limits.int,
                });
                InputValue::None
            }
            (Some(number), _) => InputValue::Number(number),
            (None, _) => InputValue::None,
        };
        self.inputs.values.push(taken);
    }

    fn flag(&mut self, value: bool) {
        self.next += 1;
        self.inputs.values.push(InputValue::Flag(value));
    }

    fn tally(&mut self, value: KeyValue<'_>) {
        self.next += 1;
        let start = self.inputs.names.len();
        tally::push_name(&mut self.inputs.names, value);
        let end = self.inputs.names.len();
        self.inputs.values.push(InputValue::Name(start, end));
    }
}

/// The largest value of an input for which no sum over a full bucket overflows.
#[derive(Debug)]
pub(crate) struct SumLimits {
    int: i64,
    float: f64,
}

impl SumLimits {
    pub(crate) fn of(spec: &BucketSpec, input: usize, size: u32) -> Self {
        let has = |kind| {
            let mut aggregates = spec.aggregates().iter();
            aggregates.any(|aggregate| aggregate.input == input && aggregate.kind == kind)
        };
        let mut limits = Self {
            int: i64::MAX,
            float: f64::MAX,
        };
        if has(AggregateKind::Sum) {
            limits.int = i64::MAX / i64::from(size);
            limits.float = f64::MAX / f64::from(size);
        }
        if has(AggregateKind::SumOfSquares) {
            limits.float = limits.float.min((f64::MAX / f64::from(size)).sqrt());
        }
        limits
    }

    fn take_int(&self, value: i64) -> bool {
        self.int == i64::MAX || value.unsigned_abs() <= self.int.unsigned_abs()
    }

    /// `false` for NaN and infinities as well.
    pub(crate) fn take_float(&self, value: f64) -> bool {
        value.abs() <= self.float
    }
}

/// The records of one statement, folded.
#[derive(Debug)]
pub(crate) struct Fold<'a> {
    spec: &'static BucketSpec,
    states: Vec<Accumulator<'a>>,
}

impl<'a> Fold<'a> {
    pub(crate) fn new(spec: &'static BucketSpec) -> Self {
        let states = spec.aggregates().iter();
        let states = states.map(|aggregate| Accumulator::new(aggregate.kind));
        Self {
            spec,
            states: states.collect(),
        }
    }

    /// Adds the `index`-th record of the batch.
    pub(crate) fn add(&mut self, inputs: &'a Inputs, index: usize, time: DateTime) {
        let row = inputs.row(self.spec, index);
        for (aggregate, state) in self.spec.aggregates().iter().zip(&mut self.states) {
            match row.get(aggregate.input).copied() {
                Some(InputValue::Number(number)) => state.add(number, time),
                Some(InputValue::Flag(flag)) => state.add_flag(flag),
                Some(InputValue::Name(start, end)) => {
                    let name = inputs.names.get(start..end);
                    state.add_name(Cow::Borrowed(name.unwrap_or_default()), 1);
                }
                Some(InputValue::None) | None => {}
            }
            state.add_time(time);
        }
    }

    /// An upper bound for the size of the encoded counters, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.parts().map(|(path, state)| state.size(path)).sum()
    }

    /// Visits each field that is incremented, and by how much.
    pub(crate) fn each_sum(&self, mut each: impl FnMut(Cow<'static, str>, Operand<'static>)) {
        for (path, state) in self.parts() {
            state.each_sum(path, &mut each);
        }
    }

    /// Visits each field with an upper bound for its value.
    pub(crate) fn each_smallest(&self, each: impl FnMut(Cow<'static, str>, Operand<'static>)) {
        self.each_extreme(Ordering::Less, each);
    }

    /// Visits each field with a lower bound for its value.
    pub(crate) fn each_largest(&self, each: impl FnMut(Cow<'static, str>, Operand<'static>)) {
        self.each_extreme(Ordering::Greater, each);
    }

    fn each_extreme(
        &self,
        order: Ordering,
        mut each: impl FnMut(Cow<'static, str>, Operand<'static>),
    ) {
        for (path, state) in self.parts() {
            if let Some(value) = state.extreme(order) {
                each(Cow::Borrowed(path), value);
            }
        }
    }

    fn parts(&self) -> impl Iterator<Item = (&'static str, &Accumulator<'a>)> {
        let aggregates = self.spec.aggregates().iter();
        let states = aggregates.zip(&self.states);
        states.map(|(aggregate, state)| (aggregate.path, state))
    }
}
