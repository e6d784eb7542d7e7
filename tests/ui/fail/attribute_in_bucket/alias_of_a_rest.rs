use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

type Others = Vec<String>;

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "scans", items = "scans", window = "1h")]
struct Scan {
    #[bucket(key)]
    machine: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(attribute(array = "specs", rest))]
    others: Others,
}

fn main() {}
