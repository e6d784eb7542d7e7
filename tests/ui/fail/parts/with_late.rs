use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "readings", items = "readings", window = "1h", parts, late = "side")]
struct Reading {
    #[bucket(key)]
    sensor: i64,
    #[bucket(time)]
    at: DateTime,
}

fn main() {}
