use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "scans", items = "scans", window = "1h")]
struct Scan {
    #[bucket(key)]
    machine: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(attribute(array = "a", k = "v", u = "x in ml", factor = 1))]
    x: Option<i32>,
    #[bucket(attribute(array = "a", k = "v", u = "oz", factor = 2))]
    y: Option<i32>,
    #[bucket(attribute(array = "a", k = "v in x", u = "ml", factor = 1))]
    z: Option<i32>,
    #[bucket(attribute(array = "a", k = "v in x", u = "l", factor = 2))]
    w: Option<i32>,
}

fn main() {}
