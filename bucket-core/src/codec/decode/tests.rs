//! Tests the decoder against `bson`: the same values, and an error where `bson` has one.

use std::collections::BTreeMap;

use bson::{Bson, DateTime, Decimal128, Document, Uuid, oid::ObjectId, spec::BinarySubtype};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::decode;
#[cfg(feature = "seal")]
use super::decode_row;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Plain {
    #[serde(with = "crate::private::bson_date")]
    taken_at: DateTime,
    value: f64,
    narrow: f32,
    #[serde(rename = "n")]
    number: i64,
    small: u8,
    text: String,
    character: char,
    yes: bool,
    none: Option<i32>,
    some: Option<String>,
    #[serde(default)]
    missing: u32,
    nested: Nested,
    list: Vec<Nested>,
    map: BTreeMap<String, i32>,
    tuple: (i32, String),
    unit: (),
    kind: Kind,
    wrapped: Wrapped,
    either: Either,
    #[serde(flatten)]
    rest: BTreeMap<String, f64>,
}

/// One field of the struct above.
#[derive(Debug, PartialEq, Deserialize)]
struct Little {
    n: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Nested {
    a: i32,
    b: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Unit,
    Other,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Wrapped(i64);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Either {
    Number(f64),
    Text(String),
}

/// Without values that have no columns.
#[cfg(feature = "seal")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Packed {
    #[serde(with = "crate::private::bson_date")]
    at: DateTime,
    kind: Kind,
    text: String,
    some: Option<bool>,
    none: Option<i64>,
    nested: Nested,
}

/// With values that are left to `bson`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Special {
    #[serde(with = "crate::private::bson_date")]
    at: DateTime,
    other: DateTime,
    id: ObjectId,
    uuid: Uuid,
    decimal: Decimal128,
    bytes: Vec<u8>,
    any: Bson,
    document: Document,
    tagged: Tagged,
    /// Its deserializer turns an error into a value.
    #[serde(deserialize_with = "date_or_none")]
    lenient: Option<DateTime>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Tagged {
    Unit,
    New(i32),
    Struct { x: i32, y: String },
}

#[allow(clippy::unnecessary_wraps, reason = "the form that serde asks for")]
fn date_or_none<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<DateTime>, D::Error> {
    Ok(DateTime::deserialize(from).ok())
}

fn bytes(value: &impl Serialize) -> Vec<u8> {
    bson::serialize_to_vec(value).unwrap()
}

prop_compose! {
    fn nested()(a in any::<i32>(), b in any::<Option<f64>>()) -> Nested {
        Nested { a, b: b.filter(|b| !b.is_nan()) }
    }
}

fn plain() -> impl Strategy<Value = Plain> {
    let numbers = (any::<i64>(), -1e300..1e300_f64, any::<i64>(), any::<u8>());
    let texts = (
        ".*",
        any::<char>(),
        any::<bool>(),
        any::<Option<i32>>(),
        any::<Option<String>>(),
    );
    let deep = (
        nested(),
        prop::collection::vec(nested(), 0..12),
        prop::collection::btree_map("[a-z.$]{0,6}", any::<i32>(), 0..4),
        (any::<i32>(), ".*"),
        any::<i64>(),
    );
    let rest = prop::collection::btree_map("x[a-z]{1,6}", -1e9..1e9_f64, 0..4);
    (numbers, texts, deep, rest).prop_map(|(numbers, texts, deep, rest)| Plain {
        taken_at: DateTime::from_millis(numbers.0),
        value: numbers.1,
        #[allow(clippy::cast_possible_truncation)]
        narrow: (numbers.1 / 1e290) as f32,
        number: numbers.2,
        small: numbers.3,
        text: texts.0.clone(),
        character: texts.1,
        yes: texts.2,
        none: texts.3,
        some: texts.4,
        missing: 0,
        nested: deep.0,
        list: deep.1,
        map: deep.2,
        tuple: deep.3,
        unit: (),
        kind: if texts.2 { Kind::Unit } else { Kind::Other },
        wrapped: Wrapped(deep.4),
        either: if texts.2 {
            Either::Number(numbers.1)
        } else {
            Either::Text(texts.0)
        },
        rest,
    })
}

/// The document as a column of one; `None` if it has to be put together.
#[cfg(feature = "seal")]
pub(super) fn from_columns<T: serde::de::DeserializeOwned>(
    document: &[u8],
) -> Option<Result<T, bson::error::Error>> {
    let document = bson::RawDocument::from_bytes(document).unwrap();
    let packed = bucket_columns::pack([document]).unwrap();
    let rows = bucket_columns::Columns::read(&packed).unwrap().into_rows();
    decode_row(rows.row()?)
}

proptest! {
    #[test]
    fn what_is_written_can_be_read(plain in plain()) {
        prop_assert_eq!(&decode::<Plain>(&bytes(&plain)).unwrap(), &plain);
    }

    #[cfg(feature = "seal")]
    #[test]
    fn what_is_packed_can_be_read(nested in nested(), at in any::<i64>(), text in ".*", kind in any::<bool>()) {
        let packed = Packed {
            at: DateTime::from_millis(at),
            kind: if kind { Kind::Unit } else { Kind::Other },
            text,
            some: Some(kind),
            none: None,
            nested,
        };
        let read = from_columns::<Packed>(&bytes(&packed)).map(Result::unwrap);
        prop_assert_eq!(read, Some(packed));
    }

    #[test]
    fn unknown_fields_are_skipped(plain in plain()) {
        let stored = bytes(&plain);
        prop_assert_eq!(decode::<Little>(&stored).unwrap(), Little { n: plain.number });
    }

    /// However a document is damaged: no panic, and no value that `bson` does not return.
    #[test]
    fn damaged_documents_are_errors_or_what_bson_reads(
        plain in plain(),
        at in any::<prop::sample::Index>(),
        to in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let mut stored = bytes(&plain);
        let at = at.index(stored.len());
        if cut {
            stored.truncate(at);
        } else {
            stored[at] = to;
        }
        if let Ok(read) = decode::<Plain>(&stored) {
            let expected = bson::deserialize_from_slice::<Plain>(&stored);
            prop_assert!(expected.is_ok(), "{expected:?}");
            // NaN is not equal to itself.
            prop_assert_eq!(format!("{read:?}"), format!("{:?}", expected.unwrap()));
        }
    }
}

#[test]
fn values_with_special_rules_are_left_to_bson() {
    for tagged in [
        Tagged::Unit,
        Tagged::New(7),
        Tagged::Struct {
            x: 1,
            y: "y".into(),
        },
    ] {
        let special = Special {
            at: DateTime::from_millis(-1),
            other: DateTime::from_millis(5),
            id: ObjectId::from_bytes([7; 12]),
            uuid: Uuid::from_bytes([9; 16]),
            decimal: "1.50".parse().unwrap(),
            bytes: vec![1, 2, 3],
            any: Bson::Binary(bson::Binary {
                subtype: BinarySubtype::Generic,
                bytes: vec![1],
            }),
            document: bson::doc! { "a": [1, { "b": DateTime::from_millis(1) }] },
            tagged,
            lenient: Some(DateTime::from_millis(3)),
        };
        assert_eq!(decode::<Special>(&bytes(&special)).unwrap(), special);
    }
    let any: Document = decode(&bytes(&bson::doc! { "a": 1_i64, "b": "x" })).unwrap();
    assert_eq!(any, bson::doc! { "a": 1_i64, "b": "x" });
}

#[test]
fn a_date_is_read_only_as_a_date() {
    #[derive(Debug, Deserialize)]
    struct Dated {
        #[serde(with = "crate::private::bson_date")]
        #[expect(dead_code)]
        at: DateTime,
    }
    for wrong in [
        bson::doc! { "at": 5_i64 },
        bson::doc! { "at": "now" },
        bson::doc! { "at": null },
        bson::doc! {},
    ] {
        assert!(decode::<Dated>(&bytes(&wrong)).is_err(), "{wrong}");
    }
}
