use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "scans", items = "scans", window = "1h")]
#[bucket(attributes(array = "specks", store = "item"))]
struct Scan {
    #[bucket(key, attribute(array = "specs", k = "machine"))]
    machine: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(attribute(array = "specs", k = "volume", u = "ml"))]
    volume_ml: Option<i32>,
    #[bucket(attribute(array = "specs", k = "volume", u = "ml"))]
    volume: Option<i32>,
    #[bucket(attribute(array = "specs", key = "height"))]
    height: Option<i32>,
}

fn main() {}
