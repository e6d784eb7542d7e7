//! Whether two items have the same content.
//!
//! A record that is encoded twice gives the same bytes, unless it holds a map without an order. What
//! another version of the program stored may have numbers of another type.

use bson::{Bson, Document, RawDocument};

use crate::model::whole;

/// Whether two items are equal whatever the order of their fields and the types of their numbers.
pub(super) fn are_same(a: &RawDocument, b: &RawDocument) -> bool {
    if a == b {
        return true;
    }
    let (Ok(a), Ok(b)) = (Document::try_from(a), Document::try_from(b)) else {
        return false;
    };
    are_same_documents(&a, &b)
}

fn are_same_documents(a: &Document, b: &Document) -> bool {
    let in_b = |(name, value): (&String, &Bson)| {
        b.get(name)
            .is_some_and(|other| are_same_values(value, other))
    };
    a.len() == b.len() && a.iter().all(in_b)
}

fn are_same_values(a: &Bson, b: &Bson) -> bool {
    match (a, b) {
        (Bson::Document(a), Bson::Document(b)) => are_same_documents(a, b),
        (Bson::Array(a), Bson::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| are_same_values(a, b))
        }
        // NaN is stored as it was.
        (Bson::Double(a), Bson::Double(b)) if a.to_bits() == b.to_bits() => true,
        _ => match (whole::of(a), whole::of(b)) {
            (Some(a), Some(b)) => a == b,
            _ => a == b,
        },
    }
}

#[cfg(test)]
mod tests {
    use bson::{Document, RawDocumentBuf, doc};

    use super::are_same;

    fn same(a: &Document, b: &Document) -> bool {
        let raw = |document| RawDocumentBuf::try_from(document).unwrap_or_default();
        are_same(&raw(a), &raw(b))
    }

    #[test]
    fn neither_the_order_of_fields_nor_the_type_of_numbers_makes_a_difference() {
        let item =
            doc! { "id": 7, "x": f64::NAN, "inner": { "a": 1, "b": [1, { "c": 2, "d": 3 }] } };
        let other = doc! {
            "inner": { "b": [1_i64, { "d": 3.0, "c": 2 }], "a": 1 }, "x": f64::NAN, "id": 7_i64,
        };
        assert!(same(&item, &item));
        assert!(same(&item, &other));
    }

    #[test]
    fn a_value_or_a_field_more_makes_a_difference() {
        let item = doc! { "id": 7, "list": [1, 2] };
        assert!(!same(&item, &doc! { "id": 7, "list": [2, 1] }));
        assert!(!same(&item, &doc! { "id": 7, "list": [1, 2], "more": 0 }));
        assert!(!same(&item, &doc! { "id": "7", "list": [1, 2] }));
        assert!(!same(&item, &doc! { "id": 7.5, "list": [1, 2] }));
    }
}
