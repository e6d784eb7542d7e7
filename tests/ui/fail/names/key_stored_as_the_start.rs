use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", window = "1h")]
struct Trade {
    #[bucket(key)]
    #[serde(rename = "bucket_start")]
    customer_id: i64,
    #[bucket(time)]
    date: DateTime,
}

fn main() {}
