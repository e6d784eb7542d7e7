use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "scans", items = "scans", window = "1h")]
struct Scan {
    #[bucket(key)]
    machine: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(attribute(array = "specs", k = "volume", u = "ml", factor = 1))]
    volume_ml: Option<i32>,
}

fn main() {}
