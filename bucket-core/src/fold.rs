//! Folding: what the records of one statement add to the aggregates of its bucket.
//!
//! Values are taken off each record once, when it is encoded, and checked there: what is folded is
//! finite, and so small that no sum over a full bucket passes 64 bits.

use std::{cmp::Ordering, collections::BTreeMap};

use crate::{
    aggregate::{AggregateKind, InputSink, NonFinite},
    error::EncodeError,
    key::KeyValue,
    measure::Number,
    raw::Operand,
    sketch::{self, Bin},
    spec::BucketSpec,
    tally,
};

/// A value of a record that aggregates are kept of.
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
    /// How large the values may be, in buckets of this size.
    limits: Vec<SumLimits>,
    limits_of: u32,
}

/// A place to go back to.
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

    /// Takes the values of a record whose bucket holds at most `size`. Gives the bytes that its
    /// tallied values take.
    ///
    /// On an error nothing is taken.
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

    /// Takes back the records since then.
    pub(crate) fn go_back_to(&mut self, mark: InputMark) {
        self.values.truncate(mark.values);
        self.names.truncate(mark.names);
    }

    /// Puts the rows of another batch behind these.
    pub(crate) fn join(&mut self, other: Self) {
        let behind = self.names.len();
        self.names.push_str(&other.names);
        self.values
            .extend(other.values.into_iter().map(|value| match value {
                InputValue::Name(start, end) => InputValue::Name(start + behind, end + behind),
                value => value,
            }));
    }

    /// The same for most records of a batch.
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

/// How large a value of an input may be, so that no sum over a full bucket of such values overflows.
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

    /// Not for NaN and infinities either.
    pub(crate) fn take_float(&self, value: f64) -> bool {
        value.abs() <= self.float
    }
}

/// The records of one statement, folded.
#[derive(Debug)]
pub(crate) struct Fold<'a> {
    spec: &'static BucketSpec,
    states: Vec<State<'a>>,
}

/// What the records add to one aggregate.
#[derive(Debug)]
enum State<'a> {
    Nothing,
    Number(Number),
    Count(i32),
    Tally(BTreeMap<&'a str, i32>),
    Bins(BTreeMap<Bin, i32>),
    Time(i64),
    InTime(i64, Number),
}

impl<'a> Fold<'a> {
    pub(crate) fn new(spec: &'static BucketSpec) -> Self {
        let states = spec
            .aggregates()
            .iter()
            .map(|aggregate| match aggregate.kind {
                AggregateKind::Count | AggregateKind::CountIf => State::Count(0),
                AggregateKind::Tally => State::Tally(BTreeMap::new()),
                AggregateKind::Percentiles { .. } => State::Bins(BTreeMap::new()),
                _ => State::Nothing,
            });
        Self {
            spec,
            states: states.collect(),
        }
    }

    /// Takes in the `index`-th record of the batch.
    pub(crate) fn add(&mut self, inputs: &'a Inputs, index: usize, time: i64) {
        let row = inputs.row(self.spec, index);
        for (aggregate, state) in self.spec.aggregates().iter().zip(&mut self.states) {
            let value = row.get(aggregate.input).copied();
            state.add(
                aggregate.kind,
                value.unwrap_or(InputValue::None),
                time,
                &inputs.names,
            );
        }
    }

    /// At most the size of the encoded counters, in bytes.
    pub(crate) fn size(&self) -> usize {
        let counters = |path: &str, state: &State<'_>| match state {
            State::Tally(counts) => counts
                .keys()
                .map(|name| path.len() + name.len() + 8)
                .sum::<usize>(),
            State::Bins(bins) => bins.len() * (path.len() + 32),
            _ => 0,
        };
        self.parts()
            .map(|(path, _, state)| counters(path, state))
            .sum()
    }

    /// What is added to which field.
    pub(crate) fn each_sum(&self, mut each: impl FnMut(&str, Operand<'static>)) {
        for (path, kind, state) in self.parts() {
            match state {
                State::Number(number) if is_sum(kind) => each(path, Operand::Number(*number)),
                State::Count(count) => each(path, Operand::Int32(*count)),
                State::Tally(counts) => {
                    for (name, count) in counts {
                        each(&format!("{path}.{name}"), Operand::Int32(*count));
                    }
                }
                State::Bins(bins) => {
                    if let AggregateKind::Percentiles { error_ppm } = kind {
                        let error = sketch::name(error_ppm);
                        for (bin, count) in bins {
                            let path = format!("{path}.{error}.{}", bin.name());
                            each(&path, Operand::Int32(*count));
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Which field must not be greater than what.
    pub(crate) fn each_smallest(&self, each: impl FnMut(&str, Operand<'static>)) {
        let kinds = [
            AggregateKind::Min,
            AggregateKind::First,
            AggregateKind::FirstTime,
        ];
        self.each_extreme(&kinds, each);
    }

    /// Which field must not be less than what.
    pub(crate) fn each_largest(&self, each: impl FnMut(&str, Operand<'static>)) {
        let kinds = [
            AggregateKind::Max,
            AggregateKind::Last,
            AggregateKind::LastTime,
        ];
        self.each_extreme(&kinds, each);
    }

    fn each_extreme(&self, kinds: &[AggregateKind], mut each: impl FnMut(&str, Operand<'static>)) {
        for (path, kind, state) in self.parts() {
            if !kinds.contains(&kind) {
                continue;
            }
            match state {
                State::Number(number) => each(path, Operand::Number(*number)),
                State::Time(time) => each(path, Operand::Date(*time)),
                State::InTime(time, number) => each(path, Operand::InTime(*time, *number)),
                _ => {}
            }
        }
    }

    fn parts(&self) -> impl Iterator<Item = (&'static str, AggregateKind, &State<'a>)> {
        let aggregates = self.spec.aggregates().iter();
        let states = aggregates.zip(&self.states);
        states.map(|(aggregate, state)| (aggregate.path, aggregate.kind, state))
    }
}

const fn is_sum(kind: AggregateKind) -> bool {
    matches!(kind, AggregateKind::Sum | AggregateKind::SumOfSquares)
}

impl<'a> State<'a> {
    fn add(&mut self, kind: AggregateKind, value: InputValue, time: i64, names: &'a str) {
        match (kind, value) {
            (AggregateKind::FirstTime, _) => {
                let earliest = match self {
                    Self::Time(other) => time.min(*other),
                    _ => time,
                };
                *self = Self::Time(earliest);
            }
            (AggregateKind::LastTime, _) => {
                let latest = match self {
                    Self::Time(other) => time.max(*other),
                    _ => time,
                };
                *self = Self::Time(latest);
            }
            (AggregateKind::Count, InputValue::Number(_))
            | (AggregateKind::CountIf, InputValue::Flag(true)) => {
                if let Self::Count(count) = self {
                    *count = count.saturating_add(1);
                }
            }
            (AggregateKind::Tally, InputValue::Name(start, end)) => {
                if let (Self::Tally(counts), Some(name)) = (self, names.get(start..end)) {
                    *counts.entry(name).or_default() += 1;
                }
            }
            (AggregateKind::Percentiles { error_ppm }, InputValue::Number(number)) => {
                if let Self::Bins(bins) = self {
                    *bins.entry(Bin::of(number.to_f64(), error_ppm)).or_default() += 1;
                }
            }
            (AggregateKind::First, InputValue::Number(number)) => {
                let earlier = !matches!(
                    self,
                    Self::InTime(t, v) if (*t).cmp(&time).then(order(*v, number)).is_le()
                );
                if earlier {
                    *self = Self::InTime(time, number);
                }
            }
            (AggregateKind::Last, InputValue::Number(number)) => {
                let later = !matches!(
                    self,
                    Self::InTime(t, v) if (*t).cmp(&time).then(order(*v, number)).is_ge()
                );
                if later {
                    *self = Self::InTime(time, number);
                }
            }
            // The server computes it.
            (AggregateKind::Avg { .. }, _) => {}
            (_, InputValue::Number(number)) => {
                let folded = match self {
                    Self::Number(other) => combine(kind, *other, number),
                    _ if kind == AggregateKind::SumOfSquares => square(number),
                    _ => number,
                };
                *self = Self::Number(folded);
            }
            _ => {}
        }
    }
}

/// Values of one input are of one kind, and finite.
fn order(a: Number, b: Number) -> Ordering {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => a.cmp(&b),
        (a, b) => a.to_f64().total_cmp(&b.to_f64()),
    }
}

fn square(number: Number) -> Number {
    Number::Float(number.to_f64() * number.to_f64())
}

fn combine(kind: AggregateKind, a: Number, b: Number) -> Number {
    match (kind, a, b) {
        (AggregateKind::Sum, Number::Int(a), Number::Int(b)) => {
            // Values were checked to be so small that no sum over a bucket overflows, and a
            // statement takes no more of them than a bucket.
            Number::Int(a.saturating_add(b))
        }
        (AggregateKind::Sum, a, b) => Number::Float(a.to_f64() + b.to_f64()),
        (AggregateKind::SumOfSquares, a, b) => Number::Float(a.to_f64() + square(b).to_f64()),
        (AggregateKind::Max, Number::Int(a), Number::Int(b)) => Number::Int(a.max(b)),
        (AggregateKind::Max, a, b) => Number::Float(a.to_f64().max(b.to_f64())),
        (_, Number::Int(a), Number::Int(b)) => Number::Int(a.min(b)),
        (_, a, b) => Number::Float(a.to_f64().min(b.to_f64())),
    }
}
