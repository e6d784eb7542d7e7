use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "readings", items = "readings", window = "1h", parts, seal_after = "7d", merge = "30m")]
struct Reading {
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
    value: f64,
}

fn main() {}
