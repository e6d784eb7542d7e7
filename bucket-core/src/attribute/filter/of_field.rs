//! Conditions on plain fields.

use std::ops::{Bound, RangeBounds};

use bson::{Bson, Document, doc};

use super::{AttributeFilter, converted::Operator};
use crate::model::field::FieldPath;

/// Conditions on the field. They compare as the server does: numbers by their value, whatever their type, and
/// only values of one type. So a missing field or null meets no comparison.
///
/// ```
/// use bson::{Document, doc};
/// use bucket_core::FieldPath;
///
/// const VALUE: FieldPath = FieldPath::new("readings.value");
/// let warm = VALUE.between(20.0..25.0).or(VALUE.is_missing());
/// assert_eq!(
///     Document::from(warm),
///     doc! { "$or": [
///         { "readings.value": { "$gte": 20.0, "$lt": 25.0 } },
///         { "readings.value": { "$eq": null } },
///     ] },
/// );
/// ```
impl FieldPath {
    /// Its value is this one.
    pub fn eq(self, value: impl Into<Bson>) -> AttributeFilter {
        self.compares(Operator::Equal, value.into())
    }

    /// Its value is greater.
    pub fn gt(self, value: impl Into<Bson>) -> AttributeFilter {
        self.compares(Operator::Greater, value.into())
    }

    /// Its value is this one or greater.
    pub fn gte(self, value: impl Into<Bson>) -> AttributeFilter {
        self.compares(Operator::GreaterOrEqual, value.into())
    }

    /// Its value is smaller.
    pub fn lt(self, value: impl Into<Bson>) -> AttributeFilter {
        self.compares(Operator::Less, value.into())
    }

    /// Its value is this one or smaller.
    pub fn lte(self, value: impl Into<Bson>) -> AttributeFilter {
        self.compares(Operator::LessOrEqual, value.into())
    }

    /// Its value is between two values: `500..1_200`, `..=9`.
    ///
    /// If the field of a record in a bucket is an array, one of its elements must be between them. A filter of whole
    /// documents is the server's: there one element can be above the lower bound and another one below the upper.
    pub fn between<V: Into<Bson> + Clone>(self, values: impl RangeBounds<V>) -> AttributeFilter {
        let mut bounds = Document::new();
        match values.start_bound().cloned() {
            Bound::Included(start) => drop(bounds.insert("$gte", start)),
            Bound::Excluded(start) => drop(bounds.insert("$gt", start)),
            Bound::Unbounded => {}
        }
        match values.end_bound().cloned() {
            Bound::Included(end) => drop(bounds.insert("$lte", end)),
            Bound::Excluded(end) => drop(bounds.insert("$lt", end)),
            Bound::Unbounded => {}
        }
        if bounds.is_empty() {
            return self.exists();
        }
        self.meets(bounds)
    }

    /// Its value is one of these.
    pub fn is_in(self, values: impl IntoIterator<Item = impl Into<Bson>>) -> AttributeFilter {
        let values: Vec<Bson> = values.into_iter().map(Into::into).collect();
        self.meets(doc! { "$in": values })
    }

    /// It has a value other than null.
    pub fn exists(self) -> AttributeFilter {
        self.meets(doc! { "$ne": null })
    }

    /// It is missing or null.
    pub fn is_missing(self) -> AttributeFilter {
        self.meets(doc! { "$eq": null })
    }

    fn compares(self, operator: Operator, value: Bson) -> AttributeFilter {
        self.meets(doc! { operator.name(): value })
    }

    fn meets(self, condition: Document) -> AttributeFilter {
        doc! { self: condition }.into()
    }
}
