//! A record of every shape, random ones of it, and what their columns must be.

use std::collections::BTreeMap;

use bucket_mongo::{
    Bucketed,
    bson::{Binary, Bson, DateTime, Decimal128, Uuid, doc, oid::ObjectId, spec::BinarySubtype},
};
use proptest::{collection::vec, option, prelude::*};
use serde::{Deserialize, Serialize};

use super::cell::Cell;

#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "everything", items = "items", window = "1h")]
pub struct Everything {
    #[bucket(key)]
    pub name: String,
    #[bucket(time)]
    pub at: DateTime,
    pub flag: bool,
    pub i8: i8,
    pub i16: i16,
    pub i32: i32,
    pub i64: i64,
    pub u8: u8,
    pub u16: u16,
    pub u32: u32,
    pub u64: u64,
    pub f32: f32,
    pub f64: f64,
    pub maybe: Option<f64>,
    pub letter: char,
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
    #[serde(rename = "renamed", default, skip_serializing_if = "Vec::is_empty")]
    pub list: Vec<Option<i32>>,
    pub date: Option<DateTime>,
    pub id: ObjectId,
    pub uuid: Uuid,
    pub decimal: Decimal128,
    pub binary: Binary,
    pub nested: Nested,
    pub boxed: Option<Box<Nested>>,
    pub pair: (i32, String),
    pub triple: [f64; 3],
    pub map: BTreeMap<String, Option<i64>>,
    pub plain: Plain,
    pub rich: Rich,
    pub open: Bson,
    pub tree: Tree,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Nested {
    pub a: f64,
    pub more: Vec<Inner>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Inner {
    pub b: Option<String>,
    pub when: DateTime,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Plain {
    Red,
    Green,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Rich {
    Nothing,
    Number(i64),
    Maybe(Option<bool>),
    Two(i32, f32),
    Named { x: f64, y: Vec<String> },
}

/// A value with values of its own type inside of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tree {
    pub leaf: i32,
    pub branches: Vec<Tree>,
}

fn date() -> impl Strategy<Value = DateTime> {
    let millis = prop_oneof![
        any::<i64>(),
        -10_000_000_000_000_i64..10_000_000_000_000,
        Just(-1),
        Just(i64::MIN),
        Just(i64::MAX),
    ];
    millis.prop_map(DateTime::from_millis)
}

/// Any bits, also those of a NaN with a payload.
fn float() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<u64>().prop_map(f64::from_bits),
        Just(-0.0),
        Just(f64::from_bits(0x7ff8_0000_0000_0abc)),
        Just(f64::from_bits(0xfff0_0000_0000_0001)),
        Just(f64::NEG_INFINITY),
        -10.0..10.0,
    ]
}

fn small_float() -> impl Strategy<Value = f32> {
    prop_oneof![
        any::<u32>().prop_map(f32::from_bits),
        Just(-0.0_f32),
        Just(f32::NAN)
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("null".to_owned()),
        Just("a,\"b\"\r\n\t\0ä\u{1f600}".to_owned()),
        ".{0,12}",
    ]
}

fn decimal() -> impl Strategy<Value = Decimal128> {
    let number = (any::<i64>(), -6_000_i32..6_000)
        .prop_map(|(digits, exponent)| format!("{digits}E{exponent}"));
    let fixed = [
        "0",
        "-0",
        "0E+3",
        "1.10",
        "1.1",
        "NaN",
        "Infinity",
        "-Infinity",
        "9.999999999999999999999999999999999E+6144",
    ];
    let text = prop_oneof![
        number,
        prop::sample::select(fixed.to_vec()).prop_map(str::to_owned)
    ];
    text.prop_map(|text| text.parse().unwrap())
}

fn binary() -> impl Strategy<Value = Binary> {
    let subtype = prop::sample::select(vec![
        BinarySubtype::Generic,
        BinarySubtype::Function,
        BinarySubtype::Md5,
        BinarySubtype::Sensitive,
        BinarySubtype::UserDefined(0x80),
    ]);
    (subtype, vec(any::<u8>(), 0..20)).prop_map(|(subtype, bytes)| Binary { subtype, bytes })
}

fn nested() -> impl Strategy<Value = Nested> {
    let inner = (option::of(text()), date()).prop_map(|(b, when)| Inner { b, when });
    (float(), vec(inner, 0..3)).prop_map(|(a, more)| Nested { a, more })
}

fn rich() -> impl Strategy<Value = Rich> {
    prop_oneof![
        Just(Rich::Nothing),
        any::<i64>().prop_map(Rich::Number),
        any::<Option<bool>>().prop_map(Rich::Maybe),
        (any::<i32>(), small_float()).prop_map(|(a, b)| Rich::Two(a, b)),
        (float(), vec(text(), 0..3)).prop_map(|(x, y)| Rich::Named { x, y }),
    ]
}

fn open() -> impl Strategy<Value = Bson> {
    prop_oneof![
        Just(Bson::Null),
        any::<i32>().prop_map(Bson::from),
        any::<i64>().prop_map(Bson::from),
        text().prop_map(Bson::from),
        any::<bool>().prop_map(Bson::from),
        date().prop_map(Bson::from),
        binary().prop_map(Bson::from),
        (any::<i64>(), text()).prop_map(|(a, b)| doc! { "a": [a], "b": { "c": b } }.into()),
    ]
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = any::<i32>().prop_map(|leaf| Tree {
        leaf,
        branches: Vec::new(),
    });
    leaf.prop_recursive(3, 8, 2, |inner| {
        (any::<i32>(), vec(inner, 0..3)).prop_map(|(leaf, branches)| Tree { leaf, branches })
    })
}

/// Random records.
pub fn everything() -> impl Strategy<Value = Everything> {
    let numbers = (
        any::<(bool, i8, i16, i32, i64)>(),
        any::<(u8, u16, u32)>(),
        prop_oneof![any::<u64>(), Just(u64::MAX)],
        small_float(),
        float(),
        option::of(float()),
    );
    let texts = (text(), date(), any::<char>(), text(), option::of(text()));
    let of_bson = (
        option::of(date()),
        any::<[u8; 12]>(),
        any::<[u8; 16]>(),
        decimal(),
        binary(),
    );
    let compound = (
        vec(any::<Option<i32>>(), 0..4),
        nested(),
        option::of(nested()),
        (any::<i32>(), text()),
        [float(), float(), float()],
        prop::collection::btree_map(text(), any::<Option<i64>>(), 0..3),
        any::<bool>(),
        rich(),
        open(),
        tree(),
    );
    (numbers, texts, of_bson, compound).prop_map(
        |(
            ((flag, i8, i16, i32, i64), (u8, u16, u32), u64, f32, f64, maybe),
            (name, at, letter, text, left_out),
            (date, id, uuid, decimal, binary),
            (list, nested, boxed, pair, triple, map, green, rich, open, tree),
        )| Everything {
            name,
            at,
            flag,
            i8,
            i16,
            i32,
            i64,
            u8,
            u16,
            u32,
            u64,
            f32,
            f64,
            maybe,
            letter,
            text,
            left_out,
            list,
            date,
            id: ObjectId::from_bytes(id),
            uuid: Uuid::from_bytes(uuid),
            decimal,
            binary,
            nested,
            boxed: boxed.map(Box::new),
            pair,
            triple,
            map,
            plain: if green { Plain::Green } else { Plain::Red },
            rich,
            open,
            tree,
        },
    )
}

fn of_date(date: DateTime) -> Cell {
    Cell::Date(date.timestamp_millis())
}

fn of_nested(nested: &Nested) -> Cell {
    let inner = |inner: &Inner| {
        Cell::fields([
            ("b", inner.b.clone().map(Cell::text).into()),
            ("when", of_date(inner.when)),
        ])
    };
    Cell::fields([
        ("a", Cell::float(nested.a)),
        ("more", Cell::List(nested.more.iter().map(inner).collect())),
    ])
}

fn of_rich(rich: &Rich) -> Cell {
    let (name, number, maybe, two, named) = match rich {
        Rich::Nothing => ("Nothing", Cell::Null, Cell::Null, Cell::Null, Cell::Null),
        Rich::Number(number) => (
            "Number",
            (*number).into(),
            Cell::Null,
            Cell::Null,
            Cell::Null,
        ),
        Rich::Maybe(maybe) => (
            "Maybe",
            Cell::Null,
            maybe.map(Cell::Bool).into(),
            Cell::Null,
            Cell::Null,
        ),
        Rich::Two(a, b) => {
            let two = Cell::fields([("0", (*a).into()), ("1", Cell::Float32(b.to_bits()))]);
            ("Two", Cell::Null, Cell::Null, two, Cell::Null)
        }
        Rich::Named { x, y } => {
            let y = Cell::List(y.iter().map(Cell::text).collect());
            let named = Cell::fields([("x", Cell::float(*x)), ("y", y)]);
            ("Named", Cell::Null, Cell::Null, Cell::Null, named)
        }
    };
    Cell::fields([
        ("variant", Cell::text(name)),
        ("Number", number),
        ("Maybe", maybe),
        ("Two", two),
        ("Named", named),
    ])
}

/// Canonical extended JSON of the values that the tests draw.
fn canonical(value: &Bson) -> String {
    let text = |text: &str| serde_json::to_string(text).unwrap();
    match value {
        Bson::Null => "null".to_owned(),
        Bson::Boolean(value) => value.to_string(),
        Bson::String(value) => text(value),
        Bson::Int32(value) => format!(r#"{{"$numberInt":"{value}"}}"#),
        Bson::Int64(value) => format!(r#"{{"$numberLong":"{value}"}}"#),
        Bson::DateTime(value) => format!(
            r#"{{"$date":{{"$numberLong":"{}"}}}}"#,
            value.timestamp_millis()
        ),
        Bson::Binary(value) => {
            let shown = serde_json::to_value(Bson::Binary(Binary {
                subtype: BinarySubtype::UserDefined(0xff),
                bytes: value.bytes.clone(),
            }));
            let shown = shown.unwrap();
            let base64 = &shown["$binary"]["base64"];
            format!(
                r#"{{"$binary":{{"base64":{base64},"subType":"{:02x}"}}}}"#,
                u8::from(value.subtype)
            )
        }
        Bson::Array(items) => {
            let items: Vec<String> = items.iter().map(canonical).collect();
            format!("[{}]", items.join(","))
        }
        Bson::Document(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, field)| format!("{}:{}", text(name), canonical(field)))
                .collect();
            format!("{{{}}}", fields.join(","))
        }
        other => panic!("{other:?}"),
    }
}

fn json(value: Bson) -> Cell {
    match value {
        Bson::Null => Cell::Null,
        value => Cell::text(canonical(&value)),
    }
}

fn of_tree(tree: &Tree) -> Bson {
    let branches: Vec<Bson> = tree.branches.iter().map(of_tree).collect();
    doc! { "leaf": tree.leaf, "branches": branches }.into()
}

/// What the columns of a record must have.
pub fn expected(record: &Everything) -> Cell {
    let of = record.clone();
    let binary = Cell::fields([
        ("subtype", u8::from(of.binary.subtype).into()),
        ("bytes", Cell::Bytes(of.binary.bytes)),
    ]);
    // An empty list is left out, as an option without a value.
    let list = if of.list.is_empty() {
        Cell::Null
    } else {
        Cell::List(of.list.into_iter().map(Cell::from).collect())
    };
    let branches = of.tree.branches.iter().map(|branch| json(of_tree(branch)));
    Cell::fields([
        ("name", Cell::text(of.name)),
        ("at", of_date(of.at)),
        ("flag", Cell::Bool(of.flag)),
        ("i8", of.i8.into()),
        ("i16", of.i16.into()),
        ("i32", of.i32.into()),
        ("i64", of.i64.into()),
        ("u8", of.u8.into()),
        ("u16", of.u16.into()),
        ("u32", of.u32.into()),
        ("u64", of.u64.into()),
        ("f32", Cell::Float32(of.f32.to_bits())),
        ("f64", Cell::float(of.f64)),
        ("maybe", of.maybe.map(Cell::float).into()),
        ("letter", Cell::text(of.letter)),
        ("text", Cell::text(of.text)),
        ("left_out", of.left_out.map(Cell::text).into()),
        ("renamed", list),
        ("date", of.date.map(of_date).into()),
        ("id", Cell::text(of.id.to_hex())),
        ("uuid", Cell::text(of.uuid.to_string())),
        ("decimal", Cell::text(of.decimal.to_string())),
        ("binary", binary),
        ("nested", of_nested(&of.nested)),
        ("boxed", of.boxed.map(|nested| of_nested(&nested)).into()),
        (
            "pair",
            Cell::fields([("0", of.pair.0.into()), ("1", Cell::text(of.pair.1))]),
        ),
        ("triple", Cell::List(of.triple.map(Cell::float).to_vec())),
        (
            "map",
            Cell::Map(
                of.map
                    .into_iter()
                    .map(|(key, value)| (key, value.into()))
                    .collect(),
            ),
        ),
        (
            "plain",
            Cell::text(match of.plain {
                Plain::Red => "red",
                Plain::Green => "green",
            }),
        ),
        ("rich", of_rich(&of.rich)),
        ("open", json(of.open)),
        (
            "tree",
            Cell::fields([
                ("leaf", of.tree.leaf.into()),
                ("branches", Cell::List(branches.collect())),
            ]),
        ),
    ])
}
