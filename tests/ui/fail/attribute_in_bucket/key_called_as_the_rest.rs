use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "scans", items = "scans", window = "1h")]
struct Scan {
    #[bucket(key)]
    machine: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(attribute(array = "a", k = "k"))]
    x: Option<i32>,
    #[bucket(attribute(array = "a", rest))]
    others: std::collections::BTreeMap<String, i32>,
}

fn main() {}
