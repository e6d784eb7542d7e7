use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "scans", items = "scans", window = "1h")]
struct Scan {
    #[bucket(key, attribute(array = "specs", k = "machine"))]
    machine: String,
    #[bucket(time)]
    at: DateTime,
}

fn main() {}
