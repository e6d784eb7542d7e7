//! Whether two items have the same content.
//!
//! A record that is encoded twice gives the same bytes, unless it holds an unordered map. Another version of
//! the program may have stored numbers of another type.

use std::collections::BTreeMap;

use bson::{RawBsonRef, RawDocument};

use crate::model::whole;

/// Whether two items are equal, regardless of the order of their fields and the types of their numbers.
pub(crate) fn are_same(a: &RawDocument, b: &RawDocument) -> bool {
    if a == b {
        return true;
    }
    let (Some(a), Some(b)) = (fields(a), fields(b)) else {
        return false;
    };
    let in_b = |(name, value): (&&str, &RawBsonRef<'_>)| {
        let other = b.get(name);
        other.is_some_and(|other| are_same_values(*value, *other))
    };
    a.len() == b.len() && a.iter().all(in_b)
}

/// The fields by name; `None` if the bytes are damaged.
fn fields(document: &RawDocument) -> Option<BTreeMap<&str, RawBsonRef<'_>>> {
    let fields = document.into_iter().map(|field| {
        let (name, value) = field.ok()?;
        Some((name.as_str(), value))
    });
    fields.collect()
}

fn are_same_values(a: RawBsonRef<'_>, b: RawBsonRef<'_>) -> bool {
    match (a, b) {
        (RawBsonRef::Document(a), RawBsonRef::Document(b)) => are_same(a, b),
        (RawBsonRef::Array(a), RawBsonRef::Array(b)) => {
            let (mut a, mut b) = (a.into_iter(), b.into_iter());
            loop {
                match (a.next(), b.next()) {
                    (None, None) => return true,
                    (Some(Ok(a)), Some(Ok(b))) if are_same_values(a, b) => {}
                    _ => return false,
                }
            }
        }
        (a, b) => a == b || whole::are_same_numbers(a, b),
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
    fn a_value_that_is_not_a_number_equals_only_its_stored_form() {
        let nan = |payload: u64| doc! { "x": f64::from_bits(0x7ff8_0000_0000_0000 | payload) };
        assert!(same(&nan(1), &nan(1)));
        assert!(!same(&nan(1), &nan(2)));
        assert!(same(&doc! { "x": 0.0 }, &doc! { "x": -0.0 }));
        assert!(!same(&doc! { "x": 0 }, &doc! { "x": null }));
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
