use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

mod hex {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(value: &i64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&format!("{value:x}"))
    }

    pub fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<i64, D::Error> {
        let text = String::deserialize(from)?;
        i64::from_str_radix(&text, 16).map_err(serde::de::Error::custom)
    }
}

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade {
    #[bucket(key)]
    customer_id: i64,
    #[bucket(time)]
    date: DateTime,
    #[bucket(unique)]
    #[serde(with = "hex")]
    order: i64,
}

fn main() {}
