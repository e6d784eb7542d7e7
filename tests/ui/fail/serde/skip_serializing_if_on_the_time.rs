use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

fn is_early(date: &DateTime) -> bool {
    date.timestamp_millis() < 0
}

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade {
    #[bucket(key)]
    customer_id: i64,
    #[bucket(time)]
    #[serde(skip_serializing_if = "is_early")]
    date: DateTime,
}

fn main() {}
