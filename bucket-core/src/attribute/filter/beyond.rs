//! Buckets in which no record can meet a filter, by their smallest and largest values.
//!
//! Each condition here is about a number that is too small or too large. So it is not met where the aggregate is
//! missing, NaN, or no number: comparisons of the server are false there.

use bson::{Bson, Document, doc};

use super::{
    converted::Operator,
    record_filter::{Condition, Test},
};
use crate::model::bounds::Bounds;

/// The most values of an `is_in` that are looked at.
const MOST_VALUES: usize = 100;

impl Condition {
    /// What a bucket meets only if none of its records meets the condition; `None` if the bounds say nothing of it.
    pub(super) fn beyond(&self, bounds: &[Bounds]) -> Option<Document> {
        match self {
            Self::All(parts) => any(parts
                .iter()
                .filter_map(|part| part.beyond(bounds))
                .collect()),
            Self::Any(parts) => {
                let parts = parts.iter().map(|part| part.beyond(bounds));
                all(parts.collect::<Option<_>>()?)
            }
            Self::None(_) => None,
            Self::Field(path, tests) => {
                let of = bounds.iter().find(|of| of.name == path)?;
                any(tests.iter().filter_map(|test| test.beyond(of)).collect())
            }
        }
    }
}

impl Test {
    fn beyond(&self, of: &Bounds) -> Option<Document> {
        match self {
            Self::Compares(operator, value) => compares(*operator, value, of),
            Self::IsIn(values) if values.len() <= MOST_VALUES => {
                let values = values.iter();
                let equals = values.map(|value| compares(Operator::Equal, value, of));
                all(equals.collect::<Option<_>>()?)
            }
            _ => None,
        }
    }
}

fn compares(operator: Operator, value: &Bson, of: &Bounds) -> Option<Document> {
    if !is_finite(value) {
        return None;
    }
    let largest = |operator: &str| of.largest.map(|path| doc! { path: { operator: value } });
    let smallest = |operator: &str| of.smallest.map(|path| doc! { path: { operator: value } });
    match operator {
        Operator::Greater => largest("$lte"),
        Operator::GreaterOrEqual => largest("$lt"),
        Operator::Less => smallest("$gte"),
        Operator::LessOrEqual => smallest("$gt"),
        Operator::Equal => any([largest("$lt"), smallest("$gt")]
            .into_iter()
            .flatten()
            .collect()),
    }
}

/// Whether it is a number that the bounds say something of: neither NaN nor infinite.
fn is_finite(value: &Bson) -> bool {
    match value {
        Bson::Int32(_) | Bson::Int64(_) => true,
        Bson::Double(number) => number.is_finite(),
        Bson::Decimal128(number) => {
            let text = number.to_string();
            !text.contains("NaN") && !text.contains("Inf")
        }
        _ => false,
    }
}

/// Met if one of them is; `None` without any.
fn any(parts: Vec<Document>) -> Option<Document> {
    (!parts.is_empty()).then(|| doc! { "$or": parts })
}

/// Met if all of them are. No alternative of a filter means that nothing meets it; that is left to the client.
fn all(parts: Vec<Document>) -> Option<Document> {
    (!parts.is_empty()).then(|| doc! { "$and": parts })
}
