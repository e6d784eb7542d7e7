use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Serialize)]
struct Raw(i64, DateTime);

impl From<Trade> for Raw {
    fn from(trade: Trade) -> Self {
        Self(trade.customer_id, trade.date)
    }
}

#[derive(Clone, Serialize, Deserialize, Bucketed)]
#[serde(into = "Raw")]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade {
    #[bucket(key)]
    customer_id: i64,
    #[bucket(time)]
    date: DateTime,
}

fn main() {}
