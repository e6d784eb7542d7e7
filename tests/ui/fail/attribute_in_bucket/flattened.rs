use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "scans", items = "scans", window = "1h")]
struct Scan {
    #[bucket(key)]
    machine: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(attribute(array = "specs", k = "size"))]
    #[serde(flatten)]
    size: Size,
}

#[derive(Serialize, Deserialize)]
struct Size {
    volume: i32,
}

fn main() {}
