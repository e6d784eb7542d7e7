use bucket_mongo::Bucketed;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade {
    #[bucket(key)]
    customer_id: i64,
    #[bucket(time)]
    date: std::time::SystemTime,
}

fn main() {}
