use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
struct Raw(i64, DateTime);

impl From<Raw> for Trade {
    fn from(Raw(customer_id, date): Raw) -> Self {
        Self { customer_id, date }
    }
}

#[derive(Serialize, Deserialize, Bucketed)]
#[serde(try_from = "Raw")]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade {
    #[bucket(key)]
    customer_id: i64,
    #[bucket(time)]
    date: DateTime,
}

fn main() {}
