use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade {
    #[bucket(key)]
    #[serde(rename = "_bucket")]
    customer_id: i64,
    #[bucket(time)]
    date: DateTime,
}

fn main() {}
