use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

type Quantity = Option<u64>;

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade {
    #[bucket(key)]
    customer_id: i64,
    #[bucket(time)]
    date: DateTime,
    #[bucket(min, max, sum, avg, std_dev, count, first, last, percentiles(error = 0.01))]
    quantity: Quantity,
}

fn main() {}
