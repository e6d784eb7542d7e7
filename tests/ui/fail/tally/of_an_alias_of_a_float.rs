use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

type Price = f64;

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade {
    #[bucket(key)]
    customer_id: i64,
    #[bucket(time)]
    date: DateTime,
    #[bucket(tally)]
    price: Price,
}

fn main() {}
