//! Every accepted record can be read again: names and values that are data cannot make a bucket or
//! a document unreadable.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests are meant to panic"
)]

use std::collections::{BTreeMap, HashMap};

use bson::{Bson, DateTime, Document, RawArrayBuf, RawDocumentBuf, doc, oid::ObjectId, rawdoc};
use bucket_core::{
    EncodeError, Limits, Record, Window,
    attribute::{DocumentFault, OtherEntries, decode, encode},
    bucket,
    write::Batch,
};
use bucket_derive::{Attributed, Bucketed};
use proptest::{collection::vec, prelude::*};
use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap};
use serde_json::json;

/// A record with every place that may hold a user's JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[serde(rename_all = "camelCase")]
#[bucket(collection = "any", items = "items", window = "1h", crate = ::bucket_core)]
struct Any {
    #[bucket(key)]
    source: i32,
    #[bucket(time)]
    at: DateTime,
    json: serde_json::Value,
    bson: Bson,
    document: Document,
    map: HashMap<String, Bson>,
    inner: Inner,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(default, alias = "old_level")]
    level: i32,
    #[serde(flatten)]
    rest: BTreeMap<String, Bson>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Inner {
    a: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    b: Option<i32>,
    #[serde(flatten)]
    rest: BTreeMap<String, serde_json::Value>,
}

fn any() -> Any {
    Any {
        source: 1,
        at: DateTime::from_millis(5),
        json: json!(null),
        bson: Bson::Null,
        document: doc! {},
        map: HashMap::new(),
        inner: Inner::default(),
        note: None,
        level: 0,
        rest: BTreeMap::new(),
    }
}

/// The records that are read back from the stored bucket of one record.
fn through<T: Record>(record: &T, id: &str) -> Result<Vec<T>, EncodeError> {
    let mut batch = Batch::of::<T>();
    batch.push(0, record)?;
    batch.chains_mut()[0].saw_none_open();
    let round = batch.rounds(None).remove(0);
    let updates = round.command().body().get_array("updates").unwrap();
    let update = updates.get_document(0).unwrap();
    let push = update
        .get_document("u")
        .unwrap()
        .get_document("$push")
        .unwrap();
    let mut items = RawArrayBuf::new();
    items.push(push.get_document(T::SPEC.items()).unwrap().to_owned());
    let stored = rawdoc! {
        "_id": id,
        "source": 1,
        "bucket_start": DateTime::from_millis(0),
        "bucket_end": DateTime::from_millis(3_600_000),
        "count": 1,
        "items": items,
    };
    let bucket = bucket::decode::<T>(&stored).unwrap_or_else(|error| panic!("{error}: {stored:?}"));
    Ok(bucket::assemble_records(bucket))
}

fn kept(record: &Any) -> Result<(), EncodeError> {
    let read = through(record, "1_0000000000")?;
    // NaN is not equal to itself.
    assert_eq!(format!("{read:?}"), format!("{:?}", [record]));
    Ok(())
}

#[test]
fn a_repeated_name_is_refused_and_reported() {
    for name in ["json", "inner", "level", "map", "at", "source"] {
        let mut record = any();
        record.rest.insert(name.to_owned(), Bson::Int32(1));
        let error = kept(&record).unwrap_err();
        let is_it = |found: &str| found == name;
        assert!(
            matches!(&error, EncodeError::RepeatedName { name } if is_it(name)),
            "{name}: {error:?}"
        );
        assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
    }
    let mut record = any();
    record.inner.rest.insert("a".to_owned(), json!(2));
    let error = kept(&record).unwrap_err();
    assert!(
        matches!(&error, EncodeError::RepeatedName { name } if name == "a"),
        "{error:?}"
    );
}

#[test]
fn a_flattened_name_of_an_omitted_field_is_refused_if_it_could_not_be_read() {
    for name in ["note", "old_level"] {
        let mut record = any();
        record.rest.insert(name.to_owned(), Bson::Boolean(true));
        let error = kept(&record).unwrap_err();
        assert!(matches!(error, EncodeError::Unreadable(_)), "{error:?}");
    }
    let mut record = any();
    record.inner.rest.insert("b".to_owned(), json!("text"));
    let error = kept(&record).unwrap_err();
    assert!(matches!(error, EncodeError::Unreadable(_)), "{error:?}");
}

/// A map whose `Serialize` writes its entries unchanged, even repeated ones.
#[derive(Debug, Clone, PartialEq)]
struct Entries(Vec<(String, i32)>);

impl Serialize for Entries {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let map = BTreeMap::deserialize(from)?;
        Ok(Self(map.into_iter().collect()))
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "listed", items = "items", window = "1h", crate = ::bucket_core)]
struct Listed {
    #[bucket(key)]
    source: i32,
    #[bucket(time)]
    at: DateTime,
    nested: Vec<Entries>,
    #[serde(flatten)]
    entries: Entries,
}

proptest! {
    /// Names of all lengths and numbers: refused names appear twice, accepted ones come back.
    #[test]
    fn names_are_refused_if_and_only_if_they_are_repeated(
        nested in vec(vec("[a-c]{0,3}|n[0-9]{1,3}", 0..60), 0..3),
        flat in vec("[a-c]{1,3}|n[0-9]{1,3}", 0..60),
    ) {
        let entries = |names: &[String]| {
            let mut entries: Vec<_> = names.iter().cloned().zip(0..).collect();
            entries.sort_by(|one, other| one.0.cmp(&other.0));
            Entries(entries)
        };
        let twice = |names: &[String]| {
            let distinct: std::collections::HashSet<_> = names.iter().collect();
            distinct.len() < names.len()
        };
        let expected = nested.iter().chain([&flat]).any(|names| twice(names));
        let record = Listed {
            source: 1,
            at: DateTime::from_millis(5),
            nested: nested.iter().map(|names| entries(names)).collect(),
            entries: entries(&flat),
        };
        match through(&record, "1_0000000000") {
            Ok(read) => {
                prop_assert!(!expected);
                prop_assert_eq!(read, [record]);
            }
            Err(error) => {
                prop_assert!(expected, "{error}");
                let repeated = matches!(error, EncodeError::RepeatedName { .. });
                prop_assert!(repeated, "{error}");
            }
        }
    }
}

/// Valid and invalid forms of everything that extended JSON has types for.
fn extended() -> Vec<Document> {
    let oid = "507f1f77bcf86cd799439011";
    vec![
        doc! { "$oid": oid },
        doc! { "$oid": "nonsense" },
        doc! { "$oid": 5 },
        doc! { "$oid": ObjectId::from_bytes([7; 12]) },
        doc! { "$date": "hello" },
        doc! { "$date": "2026-01-30T10:00:00Z" },
        doc! { "$date": { "$numberLong": "5" } },
        doc! { "$date": { "$numberLong": "5x" } },
        doc! { "$date": 5_i64 },
        doc! { "$date": 5 },
        doc! { "$date": {} },
        doc! { "$numberInt": "5" },
        doc! { "$numberInt": 5 },
        doc! { "$numberLong": "5" },
        doc! { "$numberLong": "abc" },
        doc! { "$numberDouble": "abc" },
        doc! { "$numberDouble": "NaN" },
        doc! { "$numberDecimal": "1.5" },
        doc! { "$numberDecimal": "x" },
        doc! { "$numberDecimalBytes": "x" },
        doc! { "$binary": { "base64": "AAEC", "subType": "00" } },
        doc! { "$binary": { "base64": "?", "subType": "00" } },
        doc! { "$binary": "AAEC" },
        doc! { "$uuid": "x" },
        doc! { "$uuid": "e0f5d4c2-1234-4321-8765-0123456789ab" },
        doc! { "$code": "f" },
        doc! { "$code": "f", "$scope": {} },
        doc! { "$code": "f", "$scope": { "$oid": "x" } },
        doc! { "$code": "f", "other": 1 },
        doc! { "$code": 1 },
        doc! { "$scope": {} },
        doc! { "$symbol": "s" },
        doc! { "$symbol": 1 },
        doc! { "$timestamp": { "t": 1, "i": 2 } },
        doc! { "$timestamp": { "t": 1 } },
        doc! { "$timestamp": { "t": -1, "i": 2 } },
        doc! { "$regularExpression": { "pattern": "a", "options": "" } },
        doc! { "$regularExpression": { "pattern": "a\0", "options": "" } },
        doc! { "$regularExpression": "a" },
        doc! { "$dbPointer": { "$ref": "a.b", "$id": { "$oid": oid } } },
        doc! { "$dbPointer": { "$ref": "a.b" } },
        doc! { "$minKey": 1 },
        doc! { "$minKey": 2 },
        doc! { "$maxKey": 1 },
        doc! { "$maxKey": "1" },
        doc! { "$undefined": true },
        doc! { "$undefined": false },
        doc! { "$ref": "a", "$id": 1, "$db": "x" },
        doc! { "$gt": 1 },
        doc! { "$": 1 },
        doc! { "a": 1, "$oid": oid },
        doc! { "$oid": oid, "a": 1 },
        doc! { "$date": "2026-01-30T10:00:00Z", "note": "lost?" },
        doc! { "$__private__bson_RawDocument": 1 },
        doc! { "$serde_json::private::Number": "1" },
        doc! { "$serde_json::private::RawValue": "1" },
        doc! { "$bucket_date": 1 },
    ]
}

#[test]
fn no_document_that_looks_like_extended_json_makes_a_bucket_unreadable() {
    let mut refused = 0;
    for document in extended() {
        let in_array = doc! { "deep": [{ "x": document.clone() }] };
        let map = |document: &Document| document.clone().into_iter().collect();
        let json: serde_json::Value = serde_json::to_value(&document).unwrap();
        let records = [
            Any {
                json: json.clone(),
                ..any()
            },
            Any {
                json: json!([{ "deep": json }]),
                ..any()
            },
            Any {
                bson: Bson::Document(document.clone()),
                ..any()
            },
            Any {
                bson: Bson::Document(in_array.clone()),
                ..any()
            },
            Any {
                bson: Bson::Array(vec![document.clone().into()]),
                ..any()
            },
            Any {
                document: document.clone(),
                ..any()
            },
            Any {
                document: in_array,
                ..any()
            },
            Any {
                map: document.clone().into_iter().collect(),
                ..any()
            },
            Any {
                rest: document.clone().into_iter().collect(),
                ..any()
            },
            Any {
                rest: BTreeMap::from([("x".to_owned(), document.clone().into())]),
                ..any()
            },
            Any {
                inner: Inner {
                    rest: BTreeMap::from([("x".to_owned(), json)]),
                    ..Inner::default()
                },
                ..any()
            },
            Any {
                map: map(&doc! { "x": document.clone() }),
                ..any()
            },
        ];
        for record in records {
            // This includes reading the bucket.
            match through(&record, "1_0000000000") {
                Ok(read) => assert_eq!(read.len(), 1),
                Err(EncodeError::Unreadable(_)) => refused += 1,
                Err(other) => panic!("{other:?}: {document}"),
            }
        }
    }
    assert!(refused > 100, "{refused}");
}

#[test]
fn a_document_that_would_lose_fields_by_being_read_as_extended_json_is_refused() {
    let document = doc! { "$date": "2026-01-30T10:00:00Z", "note": "lost?" };
    let bson = Any {
        bson: document.clone().into(),
        ..any()
    };
    assert!(matches!(kept(&bson), Err(EncodeError::Unreadable(_))));
    // If it is read unchanged, nothing needs to be refused.
    let json = serde_json::to_value(&document).unwrap();
    kept(&Any { json, ..any() }).unwrap();
}

#[test]
fn values_that_bson_writes_itself_are_checked_as_well() {
    let scope = doc! { "a": { "$oid": "nonsense" } };
    let code = bson::JavaScriptCodeWithScope {
        code: "f".to_owned(),
        scope,
    };
    let record = Any {
        bson: code.into(),
        ..any()
    };
    assert!(matches!(kept(&record), Err(EncodeError::Unreadable(_))));
    let (_, read) = raw(rawdoc! { "a": { "$oid": "nonsense" } });
    read.unwrap();
    let mut twice = rawdoc! { "a": 1 };
    twice.append(bson::raw::cstr!("a"), 2);
    let (_, read) = raw(twice);
    assert!(matches!(read, Err(EncodeError::RepeatedName { name }) if name == "a"));
    // A length beyond the end of the document.
    let mut bytes = rawdoc! { "a": "text" }.into_bytes();
    bytes[7] = 200;
    let (record, read) = raw(RawDocumentBuf::from_bytes(bytes).unwrap());
    assert!(
        matches!(read, Err(EncodeError::Serialize(_))),
        "{record:?}: {read:?}"
    );
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "raw", items = "items", window = "1h", crate = ::bucket_core)]
struct Raw {
    #[bucket(key)]
    source: i32,
    #[bucket(time)]
    at: DateTime,
    value: RawDocumentBuf,
}

fn raw(value: RawDocumentBuf) -> (Raw, Result<Vec<Raw>, EncodeError>) {
    let record = Raw {
        source: 1,
        at: DateTime::from_millis(5),
        value,
    };
    let read = through(&record, "1_0000000000");
    (record, read)
}

/// This many nested documents or arrays.
fn nested(levels: usize, array: bool) -> Bson {
    let mut value = if array {
        Bson::Array(Vec::new())
    } else {
        doc! {}.into()
    };
    for _ in 1..levels {
        value = if array {
            Bson::Array(vec![value])
        } else {
            doc! { "a": value }.into()
        };
    }
    value
}

/// Without optimisations, `bson` needs more than a test's stack to read this many levels.
fn with_much_stack(test: fn()) {
    let thread = std::thread::Builder::new().stack_size(16 * 1_024 * 1_024);
    thread.spawn(test).unwrap().join().unwrap();
}

#[test]
fn a_record_is_refused_by_its_depth_before_the_server_refuses_the_command() {
    with_much_stack(depths_are_refused_beyond_what_the_server_stores);
}

fn depths_are_refused_beyond_what_the_server_stores() {
    // The item is the first level.
    for (levels, fits) in [(1, true), (177, true), (178, false), (400, false)] {
        let raw_value = nested(levels, false);
        let raw_value = RawDocumentBuf::try_from(raw_value.as_document().unwrap()).unwrap();
        let (_, read) = raw(raw_value);
        let tried = [
            kept(&Any {
                bson: nested(levels, false),
                ..any()
            }),
            kept(&Any {
                bson: nested(levels, true),
                ..any()
            }),
            kept(&Any {
                json: serde_json::to_value(nested(levels, true)).unwrap(),
                ..any()
            }),
            kept(&Any {
                rest: BTreeMap::from([("x".to_owned(), nested(levels, false))]),
                ..any()
            }),
            read.map(drop),
        ];
        for result in tried {
            match result {
                Ok(()) => assert!(fits, "{levels}"),
                Err(EncodeError::TooDeep { limit: 178 }) => assert!(!fits, "{levels}"),
                Err(other) => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn a_numeric_name_is_accepted_if_no_write_uses_array_positions() {
    for name in ["0", "3", "59"] {
        let mut record = any();
        record.rest.insert(name.to_owned(), Bson::Int32(1));
        kept(&record).unwrap();
        let hours = Limits::new().window(Window::hours(1));
        for limits in [
            hours.capacity(2),
            hours.capacity(100),
            hours.capacity(1_000),
        ] {
            let mut batch = Batch::of::<Any>();
            batch.push_with(0, &record, Some(limits)).unwrap();
            batch.chains_mut()[0].saw_none_open();
            let command = batch.rounds(None).remove(0);
            let text = format!(
                "{:?}",
                Document::try_from(command.command().body().to_owned())
            );
            assert!(!text.contains("\"items."), "{text}");
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Attributed)]
#[bucket(collection = "bottles", crate = ::bucket_core)]
struct Bottle {
    #[serde(rename = "_id")]
    id: i32,
    #[bucket(attribute(array = "specs", k = "volume", u = "ml"))]
    volume: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[bucket(attribute(array = "specs", rest))]
    others: OtherEntries,
    #[serde(flatten)]
    rest: BTreeMap<String, Bson>,
}

fn bottle(name: &str, value: impl Into<Bson>) -> Bottle {
    Bottle {
        id: 1,
        volume: Some(500),
        note: None,
        others: OtherEntries::default(),
        rest: BTreeMap::from([(name.to_owned(), value.into())]),
    }
}

#[test]
fn documents_with_attributes_are_refused_if_they_could_not_be_read() {
    let fault = |bottle: &Bottle| match encode(bottle) {
        Ok(stored) => {
            assert_eq!(&decode::<Bottle>(&stored).unwrap(), bottle);
            None
        }
        Err(error) => Some(error.fault().clone()),
    };
    assert!(fault(&bottle("plain", 1)).is_none());
    let repeated = fault(&bottle("_id", 2));
    assert!(matches!(repeated, Some(DocumentFault::RepeatedName { name }) if name == "_id"));
    let repeated = fault(&bottle("volume", 2));
    assert!(matches!(repeated, Some(DocumentFault::RepeatedName { name }) if name == "volume"));
    assert!(matches!(
        fault(&bottle("note", 2)),
        Some(DocumentFault::Unreadable(_))
    ));
    let json = doc! { "$oid": "nonsense" };
    assert!(matches!(
        fault(&bottle("x", json)),
        Some(DocumentFault::Unreadable(_))
    ));
}

#[test]
fn documents_with_attributes_are_refused_by_their_depth() {
    with_much_stack(|| {
        assert!(encode(&bottle("x", nested(179, false))).is_ok());
        let error = encode(&bottle("x", nested(180, true))).unwrap_err();
        assert!(matches!(
            error.fault(),
            DocumentFault::TooDeep { limit: 180 }
        ));
    });
}
