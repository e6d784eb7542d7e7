use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

fn text<S: serde::Serializer>(id: &i64, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(id)
}

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade {
    #[bucket(key)]
    #[serde(serialize_with = "text")]
    customer_id: i64,
    #[bucket(time)]
    date: DateTime,
}

fn main() {}
