//! Places of an index: the values of its fields.

use std::iter::zip;

use bson::{Bson, RawDocumentBuf, doc};

/// The values of an index's fields in a document, null for those that it lacks.
pub(super) type Place = Vec<Bson>;

/// Whether two places have the same values of the same types.
pub(super) fn are_identical(a: &[Bson], b: &[Bson]) -> bool {
    let bytes = |place: &[Bson]| {
        let document = doc! { "": place.to_vec() };
        RawDocumentBuf::try_from(&document).map(RawDocumentBuf::into_bytes)
    };
    matches!((bytes(a), bytes(b)), (Ok(a), Ok(b)) if a == b)
}

/// Whether the server may take two places for the same one. `false` only if it tells them apart for certain.
///
/// A read that begins at one of two equal places begins at both. So what is doubtful counts as equal: then a chunk only gets
/// longer.
pub(super) fn may_be_equal(a: &[Bson], b: &[Bson]) -> bool {
    a.len() == b.len() && zip(a, b).all(|(a, b)| values_may_be_equal(a, b))
}

fn values_may_be_equal(a: &Bson, b: &Bson) -> bool {
    match (a, b) {
        (Bson::Int32(_) | Bson::Int64(_), Bson::Int32(_) | Bson::Int64(_)) => whole(a) == whole(b),
        (Bson::Document(a), Bson::Document(b)) => {
            a.len() == b.len()
                && zip(a, b)
                    .all(|((a_name, a), (b_name, b))| a_name == b_name && values_may_be_equal(a, b))
        }
        (Bson::Array(a), Bson::Array(b)) => may_be_equal(a, b),
        (Bson::String(a) | Bson::Symbol(a), Bson::String(b) | Bson::Symbol(b)) => a == b,
        (Bson::Null | Bson::Undefined, Bson::Null | Bson::Undefined) => true,
        (a, b) => match (approximate(a), approximate(b)) {
            // Numbers of any types that are the same have the same nearest double; the server takes all that are not a
            // number for the same one.
            (Some(a), Some(b)) => a.is_nan() && b.is_nan() || a.partial_cmp(&b).is_some_and(is_eq),
            (None, None) if kind(a) == kind(b) => !is_exact(a) || a == b,
            _ => false,
        },
    }
}

fn is_eq(order: std::cmp::Ordering) -> bool {
    order.is_eq()
}

fn whole(value: &Bson) -> Option<i64> {
    match value {
        Bson::Int32(value) => Some(i64::from(*value)),
        Bson::Int64(value) => Some(*value),
        _ => None,
    }
}

/// The double that is nearest to a number.
fn approximate(value: &Bson) -> Option<f64> {
    match value {
        Bson::Int32(value) => Some(f64::from(*value)),
        #[expect(
            clippy::cast_precision_loss,
            reason = "the nearest double is what is meant"
        )]
        Bson::Int64(value) => Some(*value as f64),
        Bson::Double(value) => Some(*value),
        // What is no text of a number becomes NaN, which is equal to few others.
        Bson::Decimal128(value) => Some(value.to_string().parse().unwrap_or(f64::NAN)),
        _ => None,
    }
}

/// Whether equality of the values is that of the server.
fn is_exact(value: &Bson) -> bool {
    matches!(
        value,
        Bson::String(_)
            | Bson::Boolean(_)
            | Bson::ObjectId(_)
            | Bson::DateTime(_)
            | Bson::Timestamp(_)
            | Bson::Binary(_)
    )
}

/// Values of different kinds are never the same to the server, but for numbers, texts and what is missing.
fn kind(value: &Bson) -> u8 {
    value.element_type() as u8
}

#[cfg(test)]
mod tests {
    use bson::{Bson, DateTime, doc, oid::ObjectId};

    use super::may_be_equal;

    fn equal(a: impl Into<Bson>, b: impl Into<Bson>) -> bool {
        let (a, b) = (vec![a.into()], vec![b.into()]);
        assert_eq!(may_be_equal(&a, &b), may_be_equal(&b, &a));
        may_be_equal(&a, &b)
    }

    fn decimal(text: &str) -> Bson {
        Bson::Decimal128(text.parse().unwrap())
    }

    #[test]
    fn numbers_of_different_types_are_equal_if_their_values_are() {
        assert!(equal(5, 5_i64) && equal(5, 5.0) && equal(5_i64, decimal("5.00")));
        assert!(equal(0.0, -0.0) && equal(f64::NAN, decimal("NaN")));
        assert!(!equal(5, 6_i64) && !equal(5, 5.5) && !equal(decimal("5.1"), 5));
        // These two have the same nearest double, but are compared as integers.
        assert!(!equal(9_007_199_254_740_993_i64, 9_007_199_254_740_992_i64));
        // This one is doubtful, and so the same.
        assert!(equal(9_007_199_254_740_993_i64, 9_007_199_254_740_992.0));
        assert!(equal(f64::INFINITY, decimal("Infinity")));
    }

    #[test]
    fn values_of_other_types_are_not_the_same() {
        let id = ObjectId::new();
        assert!(equal(id, id) && !equal(id, ObjectId::new()));
        assert!(equal("a", Bson::Symbol("a".to_owned())) && !equal("a", "A"));
        assert!(equal(Bson::Null, Bson::Undefined) && !equal(Bson::Null, 0));
        assert!(!equal(DateTime::from_millis(1), 1_i64) && !equal(true, 1));
        assert!(equal(doc! { "a": 1 }, doc! { "a": 1.0 }));
        assert!(!equal(doc! { "a": 1, "b": 1 }, doc! { "b": 1, "a": 1 }));
        assert!(!equal(doc! {}, doc! { "a": 1 }) && !equal(Bson::MinKey, Bson::MaxKey));
        // Nobody compares these.
        assert!(equal(Bson::MinKey, Bson::MinKey));
        let code = |code: &str| Bson::JavaScriptCode(code.to_owned());
        assert!(equal(code("a"), code("b")));
    }
}
