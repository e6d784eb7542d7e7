use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

fn is_zero(id: &i64) -> bool {
    *id == 0
}

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade {
    #[bucket(key)]
    #[serde(skip_serializing_if = "is_zero")]
    customer_id: i64,
    #[bucket(time)]
    date: DateTime,
}

fn main() {}
