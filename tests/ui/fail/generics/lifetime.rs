use bucket_mongo::{Bucketed, bson::DateTime};
use serde::Serialize;

#[derive(Serialize, Bucketed)]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade<'a> {
    #[bucket(key)]
    customer_id: i64,
    #[bucket(time)]
    date: DateTime,
    #[serde(skip)]
    ticker: &'a str,
}

fn main() {}
