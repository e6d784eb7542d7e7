use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", window = "1 hour")]
struct Trade {
    #[bucket(key)]
    customer_id: i64,
    #[bucket(time)]
    date: DateTime,
}

fn uses(bucket: &TradeBucket) -> bool {
    println!("{} {}", TradeBucket::FIELDS.bucket_start, bucket.bytes);
    bucket.bucket_start < bucket.bucket_end
}

fn main() {}
