//! Whether two definitions describe the same index.

use bson::{Bson, Document};

use super::definition::EXPIRE_AFTER;
use crate::{attribute::convert::number, model::whole};

/// Options that make an index skip documents, be skipped by queries, or refuse documents.
const RESTRICTIONS: [&str; 3] = ["sparse", "hidden", "prepareUnique"];

/// Whether an index does what the definition asks for. Options that change neither order nor uniqueness (such
/// as storage options, or the version) are ignored.
pub(super) fn same_index(expected: &Document, found: &Document) -> bool {
    let partial = |index: &Document| {
        index
            .get_document("partialFilterExpression")
            .ok()
            .map(numbers)
    };
    keys(expected) == keys(found)
        && is_set(expected, "unique") == is_set(found, "unique")
        && partial(expected) == partial(found)
        && RESTRICTIONS.iter().all(|name| !is_set(found, name))
        && !found.contains_key("wildcardProjection")
        && collation(expected) == collation(found)
        && expected.contains_key(EXPIRE_AFTER) == found.contains_key(EXPIRE_AFTER)
        && expire_after(expected).is_some() == expire_after(found).is_some()
}

/// The name of an index.
pub(super) fn name(index: &Document) -> Option<&str> {
    index.get_str("name").ok()
}

/// The fields of an index in order, each with its direction or its kind.
pub(super) fn keys(index: &Document) -> Vec<(&str, Bson)> {
    let direction = |value: &Bson| match number(value) {
        // The server, too, looks only at the sign.
        Some(number) if number > 0.0 => Bson::Int32(1),
        Some(number) if number < 0.0 => Bson::Int32(-1),
        _ => value.clone(),
    };
    let keys = index.get_document("key").into_iter().flatten();
    keys.map(|(name, value)| (name.as_str(), direction(value)))
        .collect()
}

/// Whether an option is set; older shells write it as a number.
pub(super) fn is_set(index: &Document, name: &str) -> bool {
    match index.get(name) {
        Some(Bson::Boolean(set)) => *set,
        Some(value) => number(value).is_some_and(|number| number != 0.0),
        None => false,
    }
}

/// The collation of an index; `None` for the simple collation, which compares bytes.
pub(super) fn collation(index: &Document) -> Option<&Document> {
    let collation = index.get_document("collation").ok();
    collation.filter(|collation| collation.get_str("locale").ok() != Some("simple"))
}

/// The limit of an index in whole seconds.
pub(super) fn expire_after(index: &Document) -> Option<u32> {
    let seconds = whole::field(index, EXPIRE_AFTER)?;
    u32::try_from(seconds).ok()
}

/// A condition with all its integers of one type: the shell writes doubles where drivers write integers.
fn numbers(condition: &Document) -> Document {
    let one = |value: &Bson| match value {
        Bson::Document(inner) => Bson::Document(numbers(inner)),
        other => whole::of(other).map_or_else(|| other.clone(), Bson::Int64),
    };
    condition
        .iter()
        .map(|(name, value)| (name.clone(), one(value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use bson::{Bson, Document, doc};

    use super::same_index;

    fn wanted() -> Document {
        doc! { "name": "i", "key": { "a": 1, "b": -1 } }
    }

    fn found(key: Document, options: Document) -> Document {
        let mut found = doc! { "v": 2, "key": key, "name": "i" };
        found.extend(options);
        found
    }

    #[test]
    fn an_index_is_the_same_whatever_types_its_numbers_have() {
        let (one, minus) = (Bson::Double(1.0), Bson::Double(-1.0));
        let long = doc! { "a": 1_i64, "b": -1_i64 };
        for key in [
            doc! { "a": one, "b": minus },
            long,
            doc! { "a": 2, "b": -0.5 },
        ] {
            assert!(same_index(&wanted(), &found(key.clone(), doc! {})), "{key}");
        }
        let key = doc! { "a": 1, "b": -1 };
        for option in [
            doc! { "sparse": false },
            doc! { "hidden": 0 },
            doc! { "collation": { "locale": "simple" } },
            doc! { "v": 1, "background": true },
        ] {
            assert!(
                same_index(&wanted(), &found(key.clone(), option.clone())),
                "{option}"
            );
        }
    }

    #[test]
    fn an_index_of_another_order_kind_or_restriction_is_another_one() {
        for key in [
            doc! { "b": -1, "a": 1 },
            doc! { "a": 1, "b": 1 },
            doc! { "a": 1 },
            doc! { "a": 1, "b": -1, "c": 1 },
            doc! { "a": 1, "b": "text" },
            doc! { "a": "hashed", "b": -1 },
        ] {
            assert!(
                !same_index(&wanted(), &found(key.clone(), doc! {})),
                "{key}"
            );
        }
        let kinds = |one: &str, other: &str| {
            let of = |kind: &str| doc! { "key": { "a": kind } };
            same_index(&of(one), &of(other))
        };
        assert!(!kinds("text", "2dsphere") && kinds("hashed", "hashed"));
        let key = doc! { "a": 1, "b": -1 };
        for option in [
            doc! { "unique": true },
            doc! { "unique": 1.0 },
            doc! { "prepareUnique": true },
            doc! { "sparse": 1 },
            doc! { "hidden": true },
            doc! { "partialFilterExpression": { "a": { "$gt": 1 } } },
            doc! { "collation": { "locale": "en", "strength": 2 } },
            doc! { "expireAfterSeconds": 3 },
            doc! { "wildcardProjection": { "a": 0 } },
        ] {
            assert!(
                !same_index(&wanted(), &found(key.clone(), option.clone())),
                "{option}"
            );
        }
    }
}
