//! Which copies in a quarantine belong to a key.
#![allow(clippy::unwrap_used, clippy::panic)]

#[allow(dead_code)]
mod stored_buckets;

use bson::{Bson, Document, RawDocumentBuf, doc, oid::ObjectId};
use bucket_core::{
    Record,
    repair::{copies_of_key, is_copy_of_key, remove_copies},
};

use self::stored_buckets::{Counted, Objects};

/// A copy of a bucket with this id, whose field `key` is this.
fn copy(id: impl Into<Bson>, key: impl Into<Bson>) -> RawDocumentBuf {
    let id = doc! { "collection": "events", "id": id.into(), "number": 0 };
    let copy = doc! { "_id": id, "document": { "key": key.into() } };
    RawDocumentBuf::try_from(&copy).unwrap()
}

fn is_of<T: Record<Key: for<'a> From<&'a str>>>(copy: &RawDocumentBuf, key: &str) -> bool {
    is_copy_of_key::<T>(copy, &key.into())
}

#[test]
fn a_copy_belongs_to_the_keys_that_its_fields_and_its_id_name() {
    assert!(is_of::<Counted>(&copy("12_1698335223", "12"), "12"));
    assert!(is_of::<Counted>(&copy("b_1698335223", "a"), "a"));
    // Another tool has changed the field: the records are those of `a`.
    assert!(is_of::<Counted>(&copy("a_1698335223", "b"), "a"));
    assert!(is_of::<Counted>(&copy("a_1698335223", "b"), "b"));
    assert!(!is_of::<Counted>(&copy("a_1698335223", "b"), "c"));
    assert!(!is_of::<Counted>(&copy("a_b_1698335223", "b"), "a"));
    assert!(is_of::<Objects>(&copy(ObjectId::new(), "a"), "a"));
    assert!(!is_of::<Objects>(&copy(ObjectId::new(), "b"), "a"));
}

#[test]
fn a_copy_whose_key_cannot_be_read_belongs_to_the_key_that_its_id_names() {
    let damaged = |id: &str| copy(id, doc! { "damaged": true });
    assert!(is_of::<Counted>(&damaged("12_1698335223"), "12"));
    assert!(is_of::<Counted>(&damaged("12_3_1698335223"), "12_3"));
    // It begins as the ids of `12` do.
    assert!(!is_of::<Counted>(&damaged("12_3_1698335223"), "12"));
    // With a field of another type that the server takes for the same, it was found by its fields.
    assert!(is_of::<Objects>(&copy(ObjectId::new(), Bson::Null), "a"));
}

#[test]
fn the_copies_of_a_key_are_those_of_its_collection_by_their_fields_or_their_ids() {
    let plan = copies_of_key::<Counted>(&"a".into());
    let filter = Document::try_from(&plan.filter).unwrap();
    let expected = doc! {
        "_id": {
            "$gte": { "collection": "events" },
            "$lt": { "collection": "events", "id": Bson::MaxKey },
        },
        "$or": [
            { "document.key": "a" },
            { "_id.id": { "$gte": "a_", "$lt": "a_\u{10ffff}" } },
        ],
    };
    assert_eq!(filter, expected);
    let projection = doc! {
        "_id": 1, "document.key": 1, "document._id": 1, "document.expire_from": 1, "document._sealed.archived": 1,
    };
    assert_eq!(plan.projection, projection);
    assert_eq!((plan.hint.as_str(), plan.limit), ("_id_", 0));
}

#[test]
fn copies_are_removed_by_their_ids() {
    let copies = [copy("a_1698335223", "a"), copy("a_1698335224", "a")];
    let command = remove_copies("events_quarantine", &copies);
    let command = Document::try_from(&command).unwrap();
    let deletes = copies.map(|copy| {
        let id = copy.get_document("_id").unwrap().to_owned();
        let id = Document::try_from(&id).unwrap();
        doc! { "q": { "_id": id }, "limit": 1, "collation": { "locale": "simple" } }
    });
    let expected = doc! {
        "delete": "events_quarantine",
        "ordered": true,
        "deletes": deletes.to_vec(),
    };
    assert_eq!(command, expected);
}
