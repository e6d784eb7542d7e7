//! Structs from macros: fragments arrive in invisible groups.

use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

macro_rules! record {
    (
        $vis:vis $name:ident in $collection:literal, $items:expr, $capacity:literal, $krate:path:
        $key:ident: $key_ty:ty, $time:ident: $time_ty:ty, $($field:ident: $ty:ty = $stored:literal),*
    ) => {
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = $collection, items = $items, capacity = $capacity, crate = $krate)]
        $vis struct $name {
            #[bucket(key)]
            $vis $key: $key_ty,
            #[bucket(time)]
            $vis $time: $time_ty,
            $(#[serde(rename = $stored)] $vis $field: $ty,)*
        }
    };
}

macro_rules! attribute {
    ($($meta:meta),*) => {
        #[derive(Serialize, Deserialize, Bucketed)]
        #[bucket($($meta),*)]
        struct FromMeta {
            #[bucket(key)]
            customer: i64,
            #[bucket(time)]
            date: DateTime,
        }
    };
}

record!(pub Public in "publics", "list", 10, ::bucket_mongo: id_: String, at: DateTime, qty: u32 = "q");
record!(Private in "privates", "list", 20, ::bucket_mongo: id_: i64, at: DateTime,);
attribute!(collection = "metas", items = "list", capacity = 30);

#[test]
fn compiles_and_keeps_its_promises() {
    assert_eq!(Public::COLLECTION, "publics");
    assert_eq!(PublicItem::FIELDS.qty.as_str(), "list.q");
    assert_eq!(Private::CAPACITY, 20);
    assert_eq!(FromMeta::CAPACITY, 30);
    assert_eq!(PublicKey::from("a").id_, "a");
}
