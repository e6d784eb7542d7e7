//! Documents of a flat collection as records: what comes back as it was is a record, everything else says what would be lost.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use bson::{Bson, DateTime, Document, RawDocumentBuf, doc, oid::ObjectId};
use bucket_core::{Record, backfill::Reading};
use bucket_derive::Bucketed;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "flat", items = "items", capacity = 10, crate = ::bucket_core)]
struct Flat {
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
    narrow: f32,
    wide: f64,
    number: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    shown: Option<bool>,
    inner: BTreeMap<String, Vec<i32>>,
}

fn document() -> Document {
    doc! {
        "_id": 1, "device": "a", "at": DateTime::from_millis(5), "narrow": 0.5, "wide": 2.5, "number": 7_i64,
        "note": "x", "shown": true, "inner": { "a": [1, 2], "b": [] },
    }
}

fn with(name: &str, value: impl Into<Bson>) -> Document {
    let mut document = document();
    document.insert(name, value);
    document
}

fn without(name: &str) -> Document {
    let mut document = document();
    document.remove(name);
    document
}

fn read<T: Record + DeserializeOwned>(document: &Document) -> Result<T, String> {
    let document = RawDocumentBuf::try_from(document).unwrap();
    let record = Reading::<T>::new(["__v".to_owned()]).record(&document);
    record.map_err(|misfit| misfit.to_string())
}

#[test]
fn what_comes_back_as_it_was_is_a_record() {
    let nan = f64::from_bits(0x7ff8_0000_0000_0007);
    for document in [
        document(),
        with("wide", 7),
        with("wide", 9_007_199_254_740_992_i64),
        with("wide", nan),
        with("wide", -0.0),
        with("number", 7),
        with("__v", 3),
        with("inner", doc! { "b": [], "a": [1, 2_i64] }),
        without("_id"),
        // The struct has a default for them.
        without("note"),
        without("shown"),
        with("shown", Bson::Null),
    ] {
        read::<Flat>(&document).unwrap();
    }
}

#[test]
fn what_would_be_lost_is_named() {
    for (document, text) in [
        (with("other", 1), "the field `other` is not known"),
        (with("other", Bson::Null), "the field `other` is not known"),
        (with("note", Bson::Null), "the field `note` is not known"),
        (
            with("narrow", 0.1),
            "the field `narrow` would not be stored",
        ),
        (
            with("wide", 9_007_199_254_740_993_i64),
            "the field `wide` would not be stored",
        ),
        (with("number", 7.5), "cannot be read as `Flat`"),
        (with("number", "x"), "cannot be read as `Flat`"),
        (with("at", "2026-01-01"), "cannot be read as `Flat`"),
        (without("at"), "cannot be read as `Flat`"),
        (without("inner"), "cannot be read as `Flat`"),
    ] {
        let misfit = read::<Flat>(&document).unwrap_err();
        assert!(misfit.contains(text), "{misfit}");
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Point {
    x: i32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "nested", items = "items", capacity = 10, crate = ::bucket_core)]
struct Nested {
    #[serde(rename = "_id")]
    id: i64,
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
    points: Vec<Point>,
}

#[test]
fn a_field_of_a_nested_document_is_not_lost_either() {
    let nested = |id: i64, point: Document| {
        let at = DateTime::from_millis(0);
        doc! { "_id": id, "device": "a", "at": at, "points": [{ "x": 1 }, point] }
    };
    assert_eq!(read::<Nested>(&nested(4, doc! { "x": 2 })).unwrap().id, 4);
    let misfit = read::<Nested>(&nested(4, doc! { "x": 2, "y": 3 })).unwrap_err();
    assert!(misfit.contains("`points.1.y` is not known"), "{misfit}");
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "strict", items = "items", capacity = 10, crate = ::bucket_core)]
#[serde(deny_unknown_fields)]
struct Strict {
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
}

#[test]
fn a_struct_that_denies_unknown_fields_does_not_refuse_the_id() {
    let document = |id: Bson| doc! { "_id": id, "device": "a", "at": DateTime::from_millis(0) };
    let mut reading = Reading::<Strict>::new([]);
    for id in [Bson::Int32(1), Bson::String("x".to_owned())] {
        let raw = RawDocumentBuf::try_from(&document(id)).unwrap();
        reading.record(&raw).unwrap();
    }
    let mut other = document(Bson::Int32(1));
    other.insert("x", 1);
    let misfit = read::<Strict>(&other).unwrap_err();
    assert!(misfit.contains("cannot be read as `Strict`"), "{misfit}");
}

/// The record keeps the `_id` of its document, if it has one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "with_id", items = "items", capacity = 10, crate = ::bucket_core)]
struct WithId {
    #[serde(rename = "_id", default, skip_serializing_if = "Option::is_none")]
    id: Option<ObjectId>,
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
}

#[test]
fn an_id_of_another_type_is_a_misfit_and_no_other_record_loses_its_own() {
    let document = |id: Bson| doc! { "_id": id, "device": "a", "at": DateTime::from_millis(0) };
    let mut reading = Reading::<WithId>::new([]);
    let mut read = |id: Bson| {
        let raw = RawDocumentBuf::try_from(&document(id)).unwrap();
        let record = reading.record(&raw);
        record
            .map(|record| record.id)
            .map_err(|misfit| misfit.to_string())
    };
    let (first, last) = (ObjectId::new(), ObjectId::new());
    assert_eq!(read(first.into()), Ok(Some(first)));
    let misfit = read(Bson::Int32(7)).unwrap_err();
    assert!(misfit.contains("cannot be read as `WithId`"), "{misfit}");
    assert_eq!(read(last.into()), Ok(Some(last)));
}
