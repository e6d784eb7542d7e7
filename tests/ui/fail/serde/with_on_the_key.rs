use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

mod text {
    use serde::{Deserialize, Deserializer, Serializer};
    pub fn serialize<S: Serializer>(id: &i64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(id)
    }
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
        i64::deserialize(from)
    }
}

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade {
    #[bucket(key)]
    #[serde(with = "text")]
    customer_id: i64,
    #[bucket(time)]
    date: DateTime,
}

fn main() {}
