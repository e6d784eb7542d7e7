//! Records that replace each other: with versions of every type, with a generic type, on the time itself.

use bucket_mongo::{Bucketed, Record, bson::DateTime};
use serde::{Deserialize, Serialize};

macro_rules! versions {
    ($($name:ident: $ty:ty,)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "orders", items = "orders", window = "1h", on_conflict = "replace")]
        struct $name {
            #[bucket(key)]
            customer: i64,
            #[bucket(time)]
            at: DateTime,
            #[bucket(unique)]
            id: i64,
            #[bucket(version)]
            #[serde(rename = "v")]
            r#type: $ty,
        }
        assert!($name::REPLACES.is_some());
    )*};
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "orders", items = "orders", capacity = 10, numbered)]
#[bucket(on_conflict = "replace")]
struct Generic<V> {
    #[bucket(key)]
    customer: i64,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    id: i64,
    #[bucket(version)]
    version: V,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "orders",
    items = "orders",
    capacity = 10,
    on_conflict = "replace"
)]
struct Timed {
    #[bucket(key)]
    customer: i64,
    #[bucket(time, version)]
    at: DateTime,
    #[bucket(unique)]
    id: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "orders",
    items = "orders",
    capacity = 10,
    on_conflict = "report"
)]
struct Reported {
    #[bucket(key)]
    customer: i64,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    id: i64,
}

#[test]
fn compiles_and_keeps_its_promises() {
    versions! {
        OfI8: i8,
        OfI16: i16,
        OfI32: i32,
        OfI64: i64,
        OfU8: u8,
        OfU16: u16,
        OfU32: u32,
        OfDate: DateTime,
    }
    let generic = |version| Generic {
        customer: 1,
        at: DateTime::MIN,
        id: 1,
        version,
    };
    let replaces = Generic::<i32>::REPLACES.unwrap();
    let is_replaced = [1, 2, 3].map(|version| replaces(&generic(2), &generic(version)));
    assert_eq!(is_replaced, [false, false, true]);
    let timed = |millis| Timed {
        customer: 1,
        at: DateTime::from_millis(millis),
        id: 1,
    };
    let replaces = Timed::REPLACES.unwrap();
    assert!(replaces(&timed(1), &timed(2)) && !replaces(&timed(2), &timed(1)));
    assert!(Reported::REPLACES.is_none());
}
