use bucket_mongo::Bucketed;
use serde::{Deserialize, Serialize};

type Stamp = u32;

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade {
    #[bucket(key)]
    customer_id: i64,
    #[bucket(time, first, last)]
    at: Stamp,
}

fn main() {}
