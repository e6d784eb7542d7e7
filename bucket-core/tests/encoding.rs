//! An item's bytes equal those that `bson` writes for the record, except for the key fields and the
//! time.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests are meant to panic"
)]

use std::collections::{BTreeMap, HashMap, HashSet};

use bson::{
    Binary, Bson, DateTime, Decimal128, JavaScriptCodeWithScope, RawArrayBuf, RawBsonRef,
    RawDocument, RawDocumentBuf, Regex, Timestamp, doc, oid::ObjectId, spec::BinarySubtype,
};
use bucket_core::{EncodeError, Record, write::Batch};
use bucket_derive::Bucketed;
use proptest::{collection::vec, prelude::*};
use serde::{Deserialize, Serialize, Serializer, ser::SerializeStruct};

#[path = "common/tree.rs"]
mod tree;

use tree::Tree;

/// The item as sent.
fn item<T: Record>(record: &T) -> Result<Vec<u8>, String> {
    encoded(record).map_err(|error| match error {
        EncodeError::Serialize(source) => source.to_string(),
        other => panic!("{other}"),
    })
}

fn encoded<T: Record>(record: &T) -> Result<Vec<u8>, EncodeError> {
    let mut batch = Batch::of::<T>();
    batch.push(0, record)?;
    batch.chains_mut()[0].saw_none_open();
    let round = batch.rounds(None).remove(0);
    let updates = round.command().body().get_array("updates").unwrap();
    let update = updates.get_document(0).unwrap().get_document("u").unwrap();
    let push = update.get_document("$push").unwrap();
    let item = push.get_document(T::SPEC.items()).unwrap();
    Ok(item.as_bytes().to_vec())
}

/// The complete record as `bson` writes it, with the time as a date and without the keys.
fn expected<T: Record>(record: &T) -> Result<Vec<u8>, String> {
    let whole = bson::serialize_to_vec(record).map_err(|error| error.to_string())?;
    let mut bytes = vec![0; 4];
    let mut at = 4;
    for element in RawDocument::from_bytes(&whole).unwrap().iter_elements() {
        let element = element.unwrap();
        let name = element.key().as_str();
        // A type byte, the name and its NUL precede the value.
        let end = at + 2 + name.len() + element.size();
        if name == T::SPEC.time().name {
            bytes.push(0x09);
            bytes.extend_from_slice(name.as_bytes());
            bytes.push(0);
            bytes.extend_from_slice(&record.time().timestamp_millis().to_le_bytes());
        } else if T::SPEC.keys().iter().all(|key| key.path != name) {
            bytes.extend_from_slice(&whole[at..end]);
        }
        at = end;
    }
    bytes.push(0);
    let length = i32::try_from(bytes.len()).unwrap();
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    Ok(bytes)
}

fn check<T: Record>(record: &T) {
    assert_eq!(item(record), expected(record));
}

/// Like [`check`], but values that `bson` writes in an unreadable form must be refused.
fn check_against<T: Record>(record: &T, item_of: &T::Item) {
    match bson::serialize_to_vec(item_of) {
        Err(expected) => {
            let error = encoded(record).unwrap_err();
            let (of_bson, error) = (expected.to_string(), error.to_string());
            // The error reports the first refusal.
            let is_ours =
                error.contains("twice in one document") || error.contains("not valid BSON");
            assert!(is_ours || error.ends_with(&of_bson), "{error}: {of_bson}");
        }
        Ok(expected) => match encoded(record) {
            Ok(item) => {
                assert_eq!(item, expected);
                assert_eq!(fault(&expected), None);
            }
            Err(EncodeError::RepeatedName { name }) => {
                let fault = fault(&expected);
                assert!(
                    matches!(fault, Some(Fault::Repeated(_))),
                    "{name}: {fault:?}"
                );
            }
            // By chance, the following fields may look like the missing part of the value.
            Err(error) if error.to_string().contains("not valid BSON") => {}
            Err(error) => assert_eq!(fault(&expected), Some(Fault::Malformed), "{error}"),
        },
    }
}

#[derive(Debug, PartialEq)]
enum Fault {
    Malformed,
    Repeated(String),
}

/// The first fault of a document, in `bson`'s order.
fn fault(document: &[u8]) -> Option<Fault> {
    let Ok(document) = RawDocument::from_bytes(document) else {
        return Some(Fault::Malformed);
    };
    let mut names = HashSet::new();
    for element in document.iter_elements() {
        let Ok((name, value)) = element.and_then(|it| Ok((it.key(), it.value()?))) else {
            return Some(Fault::Malformed);
        };
        let inside = match value {
            RawBsonRef::Document(inside) => fault(inside.as_bytes()),
            RawBsonRef::Array(inside) => fault(inside.as_bytes()),
            _ => None,
        };
        if inside.is_some() {
            return inside;
        }
        if !names.insert(name.as_str()) {
            return Some(Fault::Repeated(name.as_str().to_owned()));
        }
    }
    None
}

fn date() -> DateTime {
    DateTime::from_millis(1_769_767_200_123)
}

#[derive(Debug, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "any", items = "items", capacity = 3, crate = ::bucket_core)]
struct Any {
    #[serde(skip_deserializing)]
    first: Tree,
    #[bucket(key)]
    source: i32,
    #[bucket(time)]
    at: DateTime,
    #[serde(skip_deserializing)]
    second: Tree,
}

#[derive(Debug, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "open", items = "items", capacity = 3, crate = ::bucket_core)]
struct Open {
    #[bucket(key)]
    source: i32,
    #[bucket(time)]
    at: DateTime,
    #[serde(flatten, skip_deserializing)]
    rest: BTreeMap<String, Tree>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Bucketed)]
#[serde(rename_all = "camelCase")]
#[bucket(collection = "plain", items = "items", capacity = 3, crate = ::bucket_core)]
struct Plain<T, U> {
    #[bucket(key)]
    device_name: String,
    #[bucket(key)]
    part: u16,
    small: (i8, i16, u8, u16),
    wide: (i64, u32, f32, f64, bool, char),
    an_option: Option<f64>,
    #[serde(rename = "t")]
    text: T,
    #[bucket(time)]
    measured_at: DateTime,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(skip)]
    cached: u64,
    #[serde(default)]
    generic: Vec<U>,
    #[serde(with = "as_text")]
    price: i64,
    side: Side,
    position: Position,
    tags: HashMap<String, Option<i32>>,
    unit: (),
}

mod as_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    pub(super) fn serialize<S: Serializer>(price: &i64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(price)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Side {
    Buy,
    Sell(f64),
    Split { into: u8, of: u64 },
    Pair(i8, Option<String>),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Position {
    lat: f64,
    id: ObjectId,
    seen: DateTime,
    inner: Option<Box<Position>>,
}

fn side() -> impl Strategy<Value = Side> {
    prop_oneof![
        Just(Side::Buy),
        any::<f64>().prop_map(Side::Sell),
        (any::<u8>(), any::<u64>()).prop_map(|(into, of)| Side::Split { into, of }),
        (any::<i8>(), any::<Option<String>>()).prop_map(|(a, b)| Side::Pair(a, b)),
    ]
}

fn position() -> impl Strategy<Value = Position> {
    (any::<f64>(), any::<[u8; 12]>(), any::<i64>(), any::<bool>()).prop_map(
        |(lat, id, seen, nested)| {
            let flat = Position {
                lat,
                id: ObjectId::from_bytes(id),
                seen: DateTime::from_millis(seen),
                inner: None,
            };
            let inner = nested.then(|| Box::new(flat.clone()));
            Position { inner, ..flat }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_024))]

    #[test]
    fn every_serde_value_is_written_as_bson_writes_it(
        first in tree::tree(),
        second in tree::tree(),
    ) {
        let item = AnyItem { first: first.clone(), at: date(), second: second.clone() };
        check_against(&Any { first, source: 1, at: date(), second }, &item);
    }

    #[test]
    fn flattened_entries_are_written_as_bson_writes_them(
        rest in proptest::collection::btree_map("[a-z\u{0}]{1,2}", tree::tree(), 0..4),
    ) {
        let mut rest = rest;
        rest.remove("at");
        let item = OpenItem { at: date(), rest: rest.clone() };
        check_against(&Open { source: 1, at: date(), rest }, &item);
    }

    #[test]
    fn derived_records_are_written_as_bson_writes_them(
        small in any::<(i8, i16, u8, u16)>(),
        wide in any::<(i64, u32, f32, f64, bool, char)>(),
        texts in any::<(Option<f64>, String, Option<String>)>(),
        generic in vec(any::<Option<u64>>(), 0..12),
        price in any::<i64>(),
        side in side(),
        position in position(),
        tags in proptest::collection::hash_map("[^\u{0}]{0,3}", any::<Option<i32>>(), 0..4),
    ) {
        let (an_option, text, note) = texts;
        check(&Plain {
            device_name: "a".to_owned(),
            part: 1,
            small,
            wide,
            an_option,
            text,
            measured_at: date(),
            note,
            cached: 7,
            generic,
            price,
            side,
            position,
            tags,
            unit: (),
        });
    }
}

#[derive(Debug, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "values", items = "items", capacity = 3, crate = ::bucket_core)]
struct Values {
    #[bucket(key)]
    source: ObjectId,
    id: ObjectId,
    seen: DateTime,
    uuid: bson::Uuid,
    decimal: Decimal128,
    stamp: Timestamp,
    binary: Binary,
    code: JavaScriptCodeWithScope,
    pattern: Regex,
    raw: RawDocumentBuf,
    array: RawArrayBuf,
    #[bucket(time)]
    at: DateTime,
    any: Vec<Bson>,
    option: Option<DateTime>,
    readable: bson::serde_helpers::HumanReadable<DateTime>,
    document: bson::Document,
}

#[test]
fn every_type_of_bson_is_written_as_bson_writes_it() {
    let code = JavaScriptCodeWithScope {
        code: "f".to_owned(),
        scope: doc! { "a": [1, date()] },
    };
    let pattern = Regex {
        pattern: "^a".try_into().unwrap(),
        options: "mi".try_into().unwrap(),
    };
    let binary = Binary {
        subtype: BinarySubtype::Md5,
        bytes: vec![1, 2, 3],
    };
    let any = vec![
        Bson::Null,
        Bson::MinKey,
        Bson::MaxKey,
        Bson::Undefined,
        Bson::Symbol("s".to_owned()),
        Bson::JavaScriptCode("g".to_owned()),
        Bson::JavaScriptCodeWithScope(code.clone()),
        Bson::RegularExpression(pattern.clone()),
        Bson::Binary(binary.clone()),
        Bson::Document(doc! { "x": { "y": [date(), 1_i64, "z"] } }),
    ];
    check(&Values {
        source: ObjectId::new(),
        id: ObjectId::new(),
        seen: date(),
        uuid: bson::Uuid::new(),
        decimal: "1.5".parse().unwrap(),
        stamp: Timestamp {
            time: 7,
            increment: 8,
        },
        binary,
        code,
        pattern,
        raw: bson::rawdoc! { "a": 1, "b": { "c": true } },
        array: bson::rawbson!([1, "a"]).as_array().unwrap().to_owned(),
        at: date(),
        any,
        option: Some(date()),
        readable: bson::serde_helpers::HumanReadable(date()),
        document: doc! { "a": ObjectId::new(), "b": [1, 2.5] },
    });
}

/// Two serde forms by hand under the names of the fields; neither matches the fields.
#[derive(Debug, Deserialize, Bucketed)]
#[bucket(collection = "hand", items = "items", capacity = 3, crate = ::bucket_core)]
struct ByHand {
    #[bucket(key)]
    source: i32,
    #[bucket(time)]
    at: DateTime,
    value: f64,
}

impl Serialize for ByHand {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = to.serialize_struct("ByHand", 4)?;
        fields.serialize_field("more", "text")?;
        fields.serialize_field("at", &0)?;
        if self.value < 0.0 {
            fields.serialize_field("value", &[self.value, 1.0])?;
        } else {
            fields.serialize_field("value", &format!("{} V", self.value))?;
        }
        fields.serialize_field("source", &None::<i32>)?;
        fields.end()
    }
}

#[test]
fn a_manual_serialize_decides_what_is_written_for_each_record() {
    for value in [1.5, -1.5, 2.5] {
        check(&ByHand {
            source: 1,
            at: date(),
            value,
        });
    }
}

#[derive(Debug, Serialize, Deserialize, Bucketed)]
#[serde(rename = "$date")]
#[bucket(collection = "named", items = "items", capacity = 3, crate = ::bucket_core)]
struct Named {
    #[bucket(key)]
    source: i32,
    #[bucket(time)]
    at: DateTime,
}

#[test]
fn a_record_named_like_a_bson_type_is_refused_as_by_bson() {
    let record = Named {
        source: 1,
        at: date(),
    };
    assert!(item(&record).is_err());
    check(&record);
}

#[cfg(all(feature = "chrono-0_4", feature = "uuid-1"))]
#[test]
fn types_of_other_crates_are_written_as_bson_writes_them() {
    #[derive(Debug, Serialize, Deserialize, Bucketed)]
    #[bucket(collection = "others", items = "items", capacity = 3, crate = ::bucket_core)]
    struct Others {
        #[bucket(key)]
        source: uuid::Uuid,
        #[bucket(time)]
        at: chrono::DateTime<chrono::Utc>,
        id: uuid::Uuid,
        seen: chrono::DateTime<chrono::Utc>,
        day: Option<chrono::NaiveDate>,
    }
    let at = chrono::DateTime::from_timestamp_nanos(-1_234_567_891);
    check(&Others {
        source: uuid::Uuid::from_u128(1),
        at,
        id: uuid::Uuid::from_u128(u128::MAX - 5),
        seen: at,
        day: Some(at.date_naive()),
    });
}
