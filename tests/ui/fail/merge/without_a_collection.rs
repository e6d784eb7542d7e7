use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(items = "items", seal_after = "7d", merge = "week")]
struct Reading {
    #[bucket(key)]
    sensor: i64,
    #[bucket(time)]
    at: DateTime,
}

fn main() {}
