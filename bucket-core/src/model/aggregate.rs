//! Aggregates: what a bucket stores about its records besides the records themselves.
//!
//! The update that stores the records also maintains the aggregates, with operators that commute:
//! `$inc`, `$min` and `$max`. So they are exact for any number of writers in any order.

use super::{key::KeyValue, measure::Number};

/// One stored aggregate of a model.
///
/// ```
/// use bucket_core::aggregate::{Aggregate, AggregateKind};
///
/// let sum = Aggregate { path: "stats.sum", kind: AggregateKind::Sum, input: 0 };
/// assert_eq!(sum.path, "stats.sum");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aggregate {
    /// The dotted path in the bucket.
    pub path: &'static str,
    /// What the bucket stores.
    pub kind: AggregateKind,
    /// The index of the aggregated value in [`BucketSpec::inputs`](crate::BucketSpec::inputs);
    /// meaningless for aggregates of the record's time.
    pub input: usize,
}

impl Aggregate {
    /// Whether it is one of a value, not of the record's time.
    pub(crate) const fn has_input(&self) -> bool {
        !matches!(
            self.kind,
            AggregateKind::FirstTime | AggregateKind::LastTime
        )
    }
}

/// What an aggregate stores.
///
/// ```
/// use bucket_core::aggregate::AggregateKind;
/// assert_ne!(AggregateKind::Min, AggregateKind::Max);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AggregateKind {
    /// The smallest value, by `$min`.
    Min,
    /// The largest value, by `$max`.
    Max,
    /// The sum: 64-bit integers for integers, doubles for floats, by `$inc`.
    Sum,
    /// The sum of the squares as a double, by `$inc`.
    SumOfSquares,
    /// The average of the values as a double, computed by the server in the same write from a sum
    /// and the number of values.
    Avg {
        /// The index of the sum in [`BucketSpec::aggregates`](crate::BucketSpec::aggregates).
        sum: usize,
        /// The index of the number of values; `None` if that is the number of records.
        count: Option<usize>,
    },
    /// The number of values, by `$inc`. It differs from the number of records if values may be
    /// missing.
    Count,
    /// The number of records for which a condition holds, by `$inc`.
    CountIf,
    /// The number of records per value, as a document of values and numbers, by `$inc`.
    Tally,
    /// The value of the earliest record, stored as `{t: time, v: value}`, by `$min`. Among records
    /// with the same time, it is the smallest value.
    First,
    /// The value of the latest record, stored as `{t: time, v: value}`, by `$max`. Among records
    /// with the same time, it is the largest value.
    Last,
    /// The time of the earliest record, by `$min`.
    FirstTime,
    /// The time of the latest record, by `$max`.
    LastTime,
    /// A quantile sketch; see [`sketch`](crate::sketch).
    Percentiles {
        /// The relative error, in parts per million.
        error_ppm: u32,
    },
}

/// A value of each record that has aggregates.
///
/// ```
/// use bucket_core::aggregate::{Input, NonFinite};
///
/// let input = Input { field: "value", name: "v", non_finite: NonFinite::Reject, optional: false };
/// assert_eq!(input.field, "value");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Input {
    /// The name of the field in the Rust struct.
    pub field: &'static str,
    /// Its name in a stored item.
    pub name: &'static str,
    /// How NaN and infinities are handled.
    pub non_finite: NonFinite,
    /// Whether a record may have no value.
    pub optional: bool,
}

/// How a record whose value is NaN or infinite is handled.
///
/// ```
/// use bucket_core::aggregate::NonFinite;
/// assert_ne!(NonFinite::Reject, NonFinite::Skip);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NonFinite {
    /// The library refuses the record with a typed error before it sends anything.
    Reject,
    /// The record is stored; its aggregates leave the value out.
    Skip,
}

/// Takes the aggregated values, in the order of the model's inputs.
pub trait InputSink {
    /// Takes a number.
    fn number(&mut self, value: Option<Number>);

    /// Takes whether a condition holds.
    fn flag(&mut self, value: bool);

    /// Takes a value to be tallied.
    fn tally(&mut self, value: KeyValue<'_>);
}
