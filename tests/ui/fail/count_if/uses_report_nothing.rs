use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade {
    #[bucket(key)]
    customer_id: i64,
    #[bucket(time)]
    date: DateTime,
    #[bucket(count_if("high", |price, _| *price > 9.0), avg, std_dev)]
    price: f64,
}

fn uses(bucket: &TradeBucket) -> f64 {
    println!("{} {}", bucket.stats().high(), TradeStats::FIELDS.price_high);
    bucket.stats().price().std_dev().unwrap_or_default()
}

fn main() {}
