use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", capacity = 10)]
enum Trade {
    Bought { customer_id: i64, date: DateTime },
}

fn main() {}
