//! Record ids: with every key type, with a generic type, with aggregates, under serde's name.

use bucket_mongo::{
    BucketKey, Bucketed,
    bson::{DateTime, oid::ObjectId},
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[serde(rename_all = "camelCase")]
#[bucket(collection = "orders", items = "orders", capacity = 10)]
struct Order {
    #[bucket(key)]
    customer: i64,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique, max)]
    order_number: i64,
}

macro_rules! ids {
    ($($name:ident: $ty:ty,)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "orders", items = "orders", window = "1h")]
        struct $name {
            #[bucket(key)]
            customer: i64,
            #[bucket(time)]
            at: DateTime,
            #[bucket(unique)]
            r#type: $ty,
        }
        assert_eq!($name::SPEC.unique(), Some("type"));
    )*};
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, BucketKey)]
#[serde(transparent)]
struct Reference(String);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "orders", items = "orders", capacity = 10, numbered)]
struct Generic<I> {
    #[bucket(key)]
    customer: i64,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    id: I,
}

#[test]
fn compiles_and_keeps_its_promises() {
    assert_eq!(Order::SPEC.unique(), Some("orderNumber"));
    assert_eq!(
        Order::SPEC.unique_index_name().as_deref(),
        Some("bucket_unique")
    );
    ids! {
        OfInteger: i32,
        OfText: String,
        OfObjectId: ObjectId,
        OfUuid: bucket_mongo::bson::Uuid,
        OfOwn: Reference,
    }
    fn is_stored<T: Bucketed>() {}
    is_stored::<Generic<Reference>>();
    assert_eq!(Generic::<i64>::SPEC.unique(), Some("id"));
}
