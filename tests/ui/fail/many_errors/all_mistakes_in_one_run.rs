use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(colection = "trades", items = "_id", capacity = 0, id = "{customer}_{date}")]
struct Trade {
    #[bucket(kee)]
    customer_id: i64,
    #[bucket(key)]
    price: f64,
    #[bucket(time)]
    date: Option<DateTime>,
    #[serde(rename(serialize = "symbol", deserialize = "ticker"))]
    ticker: String,
}

fn main() {}
