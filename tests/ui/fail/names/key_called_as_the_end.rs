use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", window = "1h", end = "to")]
struct Trade {
    #[bucket(key)]
    #[serde(rename = "customer")]
    bucket_end: i64,
    #[bucket(time)]
    date: DateTime,
}

fn main() {}
