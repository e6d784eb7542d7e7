use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "scans", items = "scans", window = "1h")]
struct Scan {
    #[bucket(key)]
    machine: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(attribute(array = "a", k = "volume", u = "ml", factor = 1))]
    x: Option<i32>,
    #[bucket(attribute(array = "a", k = "volume", u = "oz", factor = 29.57))]
    y: Option<i32>,
    #[bucket(attribute(array = "volume_in_ml", k = "z"))]
    z: Option<i32>,
}

fn main() {}
