use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Customer(i64);

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade {
    #[bucket(key)]
    customer: Customer,
    #[bucket(key)]
    exchange: String,
    #[bucket(time)]
    date: DateTime,
}

fn main() {}
