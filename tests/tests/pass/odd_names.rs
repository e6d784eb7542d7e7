//! Names that generated code uses itself, as fields, keys and types of the user.
#![allow(non_snake_case, non_camel_case_types)]

use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

type K0 = i64;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "a b/c.d-e", items = "the items", capacity = 167_767)]
struct Record {
    #[bucket(key)]
    key: K0,
    #[bucket(key)]
    sink: String,
    #[bucket(key)]
    #[serde(rename = "__K0")]
    id_: i32,
    #[bucket(key)]
    serializer: bool,
    #[bucket(time)]
    time: DateTime,
    item: i32,
    f: i32,
    other: i32,
    id: i32,
    count: i32,
    record: i32,
    _id: i32,
    Self_: i32,
    __D: f64,
    __S: Option<f64>,
}

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "x",
    items = "h",
    capacity = 1,
    id = "{{}}{self_}_-{__}..{t:s}"
)]
struct lower_case {
    #[bucket(key)]
    __: i8,
    #[bucket(key)]
    self_: i8,
    #[bucket(time)]
    t: DateTime,
}

#[test]
fn compiles_and_keeps_its_promises() {
    assert_eq!(RecordBucket::FIELDS.items.as_str(), "the items");
    assert_eq!(RecordBucket::FIELDS.id_.as_str(), "__K0");
    assert_eq!(RecordBucket::FIELDS.id.as_str(), "_id");
    assert_eq!(RecordItem::FIELDS.count.as_str(), "the items.count");
    let key = RecordKey::from((1, "a", 2, true));
    assert!(key.serializer);
    assert_eq!(lower_case::CAPACITY, 1);
}
