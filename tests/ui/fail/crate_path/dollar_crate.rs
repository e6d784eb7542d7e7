use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

macro_rules! trade {
    () => {
        #[derive(Serialize, Deserialize, Bucketed)]
        #[bucket(crate = $crate, collection = "trades", items = "history", capacity = 10)]
        struct Trade {
            #[bucket(key)]
            customer_id: i64,
            #[bucket(time)]
            date: DateTime,
        }
    };
}

trade!();

fn main() {}
