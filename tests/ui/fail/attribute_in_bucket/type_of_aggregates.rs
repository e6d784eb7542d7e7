use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "scans", items = "scans", window = "1h")]
struct Scan {
    #[bucket(key)]
    machine: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(max, attribute(array = "specs", k = "price"))]
    price: Option<i32>,
    #[bucket(attribute(array = "price_stats", k = "x"))]
    stats: Option<i32>,
}

fn main() {}
