use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

type Price = f64;

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade {
    #[bucket(key)]
    price: Price,
    #[bucket(time)]
    date: DateTime,
}

fn main() {}
