use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", window = "1h", object_ids)]
struct Trade {
    #[bucket(key)]
    bucket_part: i64,
    #[bucket(time)]
    date: DateTime,
}

fn main() {}
