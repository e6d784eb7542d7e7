use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "scans", items = "scans", window = "1h")]
struct Scan {
    #[bucket(key)]
    machine: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(attribute(array = "x1", k = "a"))]
    x: Option<i32>,
    #[bucket(attribute(array = "x_1", k = "a"))]
    y: Option<i32>,
}

fn main() {}
