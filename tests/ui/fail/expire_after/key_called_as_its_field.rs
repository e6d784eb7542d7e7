use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", capacity = 10, numbered, expire_after = "30d")]
struct Trade {
    #[bucket(key)]
    #[serde(rename = "from")]
    expire_from: i64,
    #[bucket(time)]
    date: DateTime,
}

fn main() {}
