//! One stored aggregate, read from the server's bytes and checked once.

use bson::{Bson, DateTime, Document, RawBsonRef, RawDocument};

use super::sketch::{self, Sketch};
use crate::model::{aggregate::AggregateKind, measure::Number, whole};

/// The value of an aggregate.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// A smallest or largest value, a sum, a stored average.
    Number(Number),
    /// A number of records or values.
    Count(u64),
    /// The numbers of records by the names of their values.
    Tally(Vec<(String, u64)>),
    /// One sketch for each error that the model has used.
    Sketches(Vec<Sketch>),
    /// The time of the earliest or latest record.
    Time(DateTime),
    /// The time and the value of the earliest or latest record.
    InTime(DateTime, Number),
}

impl Value {
    /// The stored value; `None` if it does not match the kind.
    pub(super) fn read(kind: AggregateKind, stored: RawBsonRef<'_>) -> Option<Self> {
        match kind {
            AggregateKind::Min
            | AggregateKind::Max
            | AggregateKind::Sum
            | AggregateKind::SumOfSquares
            | AggregateKind::Avg { .. } => number(stored).map(Self::Number),
            AggregateKind::Count | AggregateKind::CountIf => counted(stored).map(Self::Count),
            AggregateKind::Tally => {
                let counters = stored.as_document()?;
                let one = |element: bson::error::Result<(&bson::raw::CStr, RawBsonRef<'_>)>| {
                    let (name, count) = element.ok()?;
                    Some((name.as_str().to_owned(), counted(count)?))
                };
                counters
                    .iter()
                    .map(one)
                    .collect::<Option<_>>()
                    .map(Self::Tally)
            }
            AggregateKind::First | AggregateKind::Last => {
                let pair = stored.as_document()?;
                let time = pair.get("t").ok()??.as_datetime()?;
                Some(Self::InTime(time, number(pair.get("v").ok()??)?))
            }
            AggregateKind::FirstTime | AggregateKind::LastTime => {
                stored.as_datetime().map(Self::Time)
            }
            AggregateKind::Percentiles { .. } => {
                sketches(stored.as_document()?).map(Self::Sketches)
            }
        }
    }

    /// The value in its stored form.
    pub(super) fn to_bson(&self) -> Bson {
        match self {
            Self::Number(value) => number_bson(*value),
            Self::Count(count) => count_bson(*count),
            Self::Tally(counters) => {
                let counters = counters.iter();
                Bson::Document(
                    counters
                        .map(|(name, count)| (name.clone(), count_bson(*count)))
                        .collect(),
                )
            }
            Self::Sketches(sketches) => {
                let part = |sketch: &Sketch| {
                    let bins = sketch.bins();
                    let counters: Document = bins
                        .map(|(bin, count)| (bin.name(), count_bson(count)))
                        .collect();
                    (sketch::name(sketch.error_ppm()), Bson::Document(counters))
                };
                Bson::Document(sketches.iter().map(part).collect())
            }
            Self::Time(time) => Bson::DateTime(*time),
            Self::InTime(time, value) => {
                let pair = [("t", Bson::DateTime(*time)), ("v", number_bson(*value))];
                Bson::Document(
                    pair.map(|(name, value)| (name.to_owned(), value))
                        .into_iter()
                        .collect(),
                )
            }
        }
    }
}

fn sketches(stored: &RawDocument) -> Option<Vec<Sketch>> {
    let one = |element: bson::error::Result<(&bson::raw::CStr, RawBsonRef<'_>)>| {
        let (name, counters) = element.ok()?;
        let mut sketch = Sketch::new(sketch::error_of(name.as_str())?);
        for counter in counters.as_document()? {
            let (bin, count) = counter.ok()?;
            sketch.count_in(sketch::Bin::parse(bin.as_str())?, counted(count)?);
        }
        Some(sketch)
    };
    stored.iter().map(one).collect()
}

/// A number of any stored numeric type.
fn number(value: RawBsonRef<'_>) -> Option<Number> {
    match value {
        RawBsonRef::Int32(value) => Some(Number::Int(i64::from(value))),
        RawBsonRef::Int64(value) => Some(Number::Int(value)),
        RawBsonRef::Double(value) => Some(Number::Float(value)),
        _ => None,
    }
}

/// A non-negative whole number of any numeric type.
fn counted(value: RawBsonRef<'_>) -> Option<u64> {
    u64::try_from(whole::of_raw(value)?).ok()
}

/// As writes store it: 64-bit integers.
fn number_bson(value: Number) -> Bson {
    match value {
        Number::Int(value) => Bson::Int64(value),
        Number::Float(value) => Bson::Double(value),
    }
}

/// As the server counts: 32 bits if they suffice.
fn count_bson(count: u64) -> Bson {
    whole::counted(i64::try_from(count).unwrap_or(i64::MAX))
}
