use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade {
    #[bucket(key)]
    customer_id: i64,
    #[bucket(time)]
    date: DateTime,
    #[bucket(min, max, avg)]
    price: String,
}

fn uses(bucket: &TradeBucket) -> Option<f64> {
    let price: TradePriceStats<'_> = bucket.stats().price();
    println!("{} {:?}", TradeStats::FIELDS.price_min, price.max());
    bucket.stats().avg().or(price.avg())
}

fn main() {}
