//! `crate = ..` names any absolute path that exposes the library.

use bucket_mongo::{BucketKey, Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

pub mod vendor {
    pub mod buckets {
        pub use bucket_mongo::*;
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, BucketKey)]
#[bucket(crate = crate::crate_path::vendor::buckets)]
struct Venue(String);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", capacity = 10)]
#[bucket(crate = crate::crate_path::vendor::buckets)]
struct Trade {
    #[bucket(key)]
    venue: Venue,
    #[bucket(time)]
    date: DateTime,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(crate = ::bucket_core, collection = "trades", items = "history", capacity = 10)]
struct OnCore {
    #[bucket(key)]
    customer: i64,
    #[bucket(time)]
    date: DateTime,
}

#[test]
fn compiles_and_keeps_its_promises() {
    assert_eq!((Trade::CAPACITY, OnCore::CAPACITY), (10, 10));
}
