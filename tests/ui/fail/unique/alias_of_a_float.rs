use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

type Order = f64;

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade {
    #[bucket(key)]
    customer_id: i64,
    #[bucket(time)]
    date: DateTime,
    #[bucket(unique)]
    order: Order,
}

fn main() {}
