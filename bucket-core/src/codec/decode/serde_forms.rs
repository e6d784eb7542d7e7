//! Tests the decoder against `bson` for the serde forms of types and attributes: the same value, or
//! an error where `bson` has one.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    fmt::Debug,
    num::NonZeroU8,
};

use bson::{Bson, DateTime, Decimal128, Document, doc, oid::ObjectId};
use serde::{Deserialize, de::DeserializeOwned};

use super::decode;

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "printed")]
struct Of<T> {
    v: T,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "printed")]
enum External {
    Unit,
    New(i64),
    Tuple(i32, String),
    Struct { a: i32, b: Option<f64> },
}

#[derive(Debug, Deserialize)]
#[serde(tag = "t")]
#[expect(dead_code, reason = "printed")]
enum Internal {
    Unit,
    New(Pair),
    Struct { a: i64 },
}

#[derive(Debug, Deserialize)]
#[serde(tag = "t", content = "c")]
#[expect(dead_code, reason = "printed")]
enum Adjacent {
    Unit,
    New(i64),
    Tuple(i32, String),
    Struct { a: i32 },
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
#[expect(dead_code, reason = "printed")]
enum Untagged {
    Nothing(()),
    Yes(bool),
    Small(u8),
    Number(f64),
    Text(String),
    Date(DateTime),
    Id(ObjectId),
    List(Vec<Untagged>),
    Map(BTreeMap<String, Untagged>),
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "printed")]
struct Pair {
    a: i64,
    #[serde(default)]
    b: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "printed")]
struct Flat {
    #[serde(flatten)]
    pair: Pair,
    #[serde(flatten)]
    either: Option<Internal>,
    #[serde(flatten)]
    rest: HashMap<String, Bson>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "printed")]
struct Strict {
    #[serde(alias = "aa")]
    a: i64,
    #[serde(skip)]
    left_out: u8,
}

#[derive(Debug, Deserialize)]
struct UnitStruct;

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "printed")]
struct Tuple(i32, Option<String>);

#[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
enum Name {
    A,
    B,
}

fn values() -> Vec<Bson> {
    vec![
        Bson::Null,
        true.into(),
        0_i32.into(),
        7_i32.into(),
        (-1_i32).into(),
        i64::MAX.into(),
        i64::MIN.into(),
        300_i64.into(),
        1.0.into(),
        (-0.0).into(),
        f64::NAN.into(),
        f64::INFINITY.into(),
        "".into(),
        "x".into(),
        "xy".into(),
        "7".into(),
        "Unit".into(),
        "\u{1F600}\u{0}".into(),
        Bson::Array(vec![]),
        Bson::Array(vec![1.into(), "x".into()]),
        Bson::Array(vec![1.into(), Bson::Null, 3.into()]),
        Bson::Array(vec![1.into(), DateTime::MIN.into()]),
        Bson::Array((0..12).map(Bson::Int32).collect()),
        doc! {}.into(),
        doc! { "a": 1_i64 }.into(),
        doc! { "a": 1, "b": Bson::Null }.into(),
        doc! { "a": 1, "b": 2, "z": { "y": [1, Bson::Null] } }.into(),
        doc! { "aa": 1 }.into(),
        doc! { "1": 1, "-2": 2 }.into(),
        doc! { "true": 1, "false": 2 }.into(),
        doc! { "a": 1, "when": DateTime::MAX }.into(),
        doc! { "Unit": Bson::Null }.into(),
        doc! { "New": 5 }.into(),
        doc! { "Tuple": [1, "x"] }.into(),
        doc! { "Struct": { "a": 1, "b": 2.5 } }.into(),
        doc! { "New": 5, "Unit": 6 }.into(),
        doc! { "t": "Unit" }.into(),
        doc! { "a": 4_i64, "t": "New", "b": 3 }.into(),
        doc! { "t": "Struct", "a": i64::MIN }.into(),
        doc! { "t": "New", "c": 9 }.into(),
        doc! { "c": [1, "x"], "t": "Tuple" }.into(),
        doc! { "t": "Struct", "c": { "a": 1 } }.into(),
        doc! { "$oid": "507f1f77bcf86cd799439011" }.into(),
        doc! { "$date": { "$numberLong": "5" } }.into(),
        doc! { "$numberDecimal": "1.5" }.into(),
        DateTime::from_millis(-1).into(),
        ObjectId::from_bytes([7; 12]).into(),
        Bson::Decimal128("1.50".parse::<Decimal128>().unwrap()),
        Bson::Binary(bson::Binary {
            subtype: bson::spec::BinarySubtype::Generic,
            bytes: vec![1, 2],
        }),
        Bson::MaxKey,
        Bson::Undefined,
    ]
}

fn same<T: DeserializeOwned + Debug>() {
    let name = std::any::type_name::<T>();
    let shown = |read: Result<T, bson::error::Error>| read.map(|read| format!("{read:?}")).ok();
    let documents = values().into_iter().flat_map(|value| {
        let inner = value.as_document().cloned().unwrap_or_default();
        [doc! { "v": value }, inner]
    });
    for document in documents.chain([doc! { "v": 1, "w": DateTime::MIN }]) {
        let stored = bson::serialize_to_vec(&document).unwrap();
        let expected = shown(bson::deserialize_from_slice(&stored));
        assert_eq!(shown(decode(&stored)), expected, "{name} of {document}");
        #[cfg(feature = "seal")]
        if let Some(read) = super::tests::from_columns(&stored) {
            assert_eq!(shown(read), expected, "{name} of the columns of {document}");
        }
    }
}

macro_rules! same {
    ($($name:ident: $($type:ty),+;)+) => {$(
        #[test]
        fn $name() {
            $(
                same::<Of<$type>>();
                same::<Of<Option<$type>>>();
                same::<$type>();
            )+
        }
    )+};
}

same! {
    numbers: u8, i8, u16, u32, i32, u64, i64, u128, i128, usize, f32, f64, NonZeroU8;
    texts_and_bytes: String, char, Cow<'static, str>, Box<str>, Vec<u8>, std::path::PathBuf;
    enums: External, Internal, Adjacent, Untagged, Name;
    structs: Pair, Flat, Strict, UnitStruct, Tuple, (), (i32, String), [i32; 2], bool;
    collections: Vec<i32>, Vec<Option<Untagged>>, Option<Option<i32>>, Box<Pair>, Result<i64, String>;
    maps: BTreeMap<String, i64>, BTreeMap<i32, i64>, BTreeMap<bool, i64>, BTreeMap<char, i64>, BTreeMap<Name, i64>, HashMap<u64, Untagged>;
    of_bson: Bson, Document, DateTime, ObjectId, Decimal128, bson::RawDocumentBuf, bson::RawBson, bson::Uuid;
    passed_over: serde::de::IgnoredAny;
}
