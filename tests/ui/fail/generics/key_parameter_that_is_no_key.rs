use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade<K> {
    #[bucket(key)]
    customer_id: K,
    #[bucket(time)]
    date: DateTime,
}

fn stored<T: bucket_mongo::Record>() {}

fn main() {
    stored::<Trade<i64>>();
    stored::<Trade<f64>>();
}
