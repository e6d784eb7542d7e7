//! The aggregates of any model, as names and values.

use bucket_mongo::{
    BucketSpec,
    bson::{Bson, Document},
    model::AggregateKind,
};
use serde_json::{Map, Value};

use crate::json;

/// The aggregates of records: those that are stored, and the averages that follow from them.
#[derive(Debug)]
pub(crate) struct Figures {
    values: Vec<(String, Bson)>,
}

impl Figures {
    /// From the stored form, and the number of records.
    pub(crate) fn of(spec: &BucketSpec, stored: &Document, records: u64) -> Self {
        let mut values = Vec::new();
        for aggregate in spec.aggregates() {
            // A sketch is no value that someone can read.
            if matches!(aggregate.kind, AggregateKind::Percentiles { .. }) {
                continue;
            }
            if let Some(value) = at_path(stored, aggregate.path) {
                values.push((aggregate.path.to_owned(), value.clone()));
            }
        }
        for (at, input) in spec.inputs().iter().enumerate() {
            let of = |wanted: fn(AggregateKind) -> bool| {
                let mut aggregates = spec.aggregates().iter();
                let found = aggregates.find(|one| one.input == at && wanted(one.kind));
                found.and_then(|one| number(at_path(stored, one.path)?))
            };
            let count = of(|kind| kind == AggregateKind::Count);
            let is_stored = of(|kind| matches!(kind, AggregateKind::Avg { .. })).is_some();
            let sum = of(|kind| kind == AggregateKind::Sum).filter(|_| !is_stored);
            // Without a number of values that are there, only fields that are always there have an average.
            let count = count.or_else(|| (!input.optional).then_some(as_float(records)));
            if let (Some(sum), Some(count)) = (sum, count.filter(|count| *count > 0.0)) {
                values.push((format!("average of {}", input.name), (sum / count).into()));
            }
        }
        Self { values }
    }

    pub(crate) fn values(&self) -> &[(String, Bson)] {
        &self.values
    }

    /// An object with each value under its path or name.
    pub(crate) fn json(&self) -> Value {
        let values = self.values.iter();
        let values: Map<String, Value> = values
            .map(|(name, value)| (name.clone(), json::value(value)))
            .collect();
        Value::Object(values)
    }
}

/// The smallest, the average and the largest value of the input with this number.
pub(crate) fn band(
    spec: &BucketSpec,
    input: usize,
    stored: &Document,
    records: u64,
) -> [Option<f64>; 3] {
    let of = |wanted: fn(AggregateKind) -> bool| {
        let mut aggregates = spec.aggregates().iter();
        let found = aggregates.find(|one| one.input == input && wanted(one.kind));
        found.and_then(|one| number(at_path(stored, one.path)?))
    };
    let optional = spec.inputs().get(input).is_some_and(|input| input.optional);
    let count = of(|kind| kind == AggregateKind::Count);
    let count = count.or_else(|| (!optional).then_some(as_float(records)));
    let average = of(|kind| matches!(kind, AggregateKind::Avg { .. })).or_else(|| {
        let sum = of(|kind| kind == AggregateKind::Sum)?;
        count.filter(|count| *count > 0.0).map(|count| sum / count)
    });
    [
        of(|kind| kind == AggregateKind::Min),
        average,
        of(|kind| kind == AggregateKind::Max),
    ]
}

fn at_path<'a>(document: &'a Document, path: &str) -> Option<&'a Bson> {
    match path.split_once('.') {
        None => document.get(path),
        Some((parent, rest)) => at_path(document.get_document(parent).ok()?, rest),
    }
}

#[allow(clippy::cast_precision_loss, reason = "for an average and a picture")]
fn number(value: &Bson) -> Option<f64> {
    match value {
        Bson::Int32(value) => Some((*value).into()),
        Bson::Int64(value) => Some(*value as f64),
        Bson::Double(value) => Some(*value),
        _ => None,
    }
}

#[allow(clippy::cast_precision_loss, reason = "far fewer than 2^53 records")]
fn as_float(number: u64) -> f64 {
    number as f64
}
