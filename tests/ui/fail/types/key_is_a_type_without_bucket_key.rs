use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Customer(i64);

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade {
    #[bucket(key)]
    customer: Customer,
    #[bucket(time)]
    date: DateTime,
}

fn main() {}
