use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Bucketed)]
#[serde(default)]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade<K: Default> {
    #[bucket(key)]
    customer_id: K,
    #[bucket(time)]
    date: DateTime,
}

impl<K: Default> Default for Trade<K> {
    fn default() -> Self {
        Self { customer_id: K::default(), date: DateTime::MIN }
    }
}

fn main() {}
