use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "readings", items = "items", window = "1h", seal_after = "1d", merge = "day", merge_stats = "month")]
struct Reading {
    #[bucket(key)]
    sensor: i64,
    #[bucket(time)]
    at: DateTime,
}

fn main() {}
