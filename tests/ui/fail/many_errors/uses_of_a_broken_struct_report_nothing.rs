use bucket_mongo::{Bucketed, Record, bson::DateTime, mongodb::Database};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", capacity = "10")]
struct Trade {
    #[bucket(key)]
    customer_id: i64,
    #[bucket(time)]
    date: DateTime,
    price: f64,
}

async fn uses(db: &Database, trade: Trade) -> bucket_mongo::Result<Vec<Trade>> {
    let trades = Trade::buckets(db);
    trades.insert(&trade).await?;
    let key = TradeKey { customer_id: 1 };
    assert_eq!(TradeKey::from(1), key);
    assert_eq!(trade.key(), key);
    let page = trades.page(123, 1).await?;
    let bucket: Option<TradeBucket> = None;
    let ids: Vec<TradeBucketId> = bucket.iter().map(|bucket| bucket.id.clone()).collect();
    println!("{ids:?} {} {}", TradeBucket::FIELDS.customer_id, TradeItem::FIELDS.price);
    println!("{} {} {:?}", Trade::CAPACITY, Trade::COLLECTION, Trade::SPEC);
    let items: Vec<TradeItem> = bucket.clone().map(|b| b.history).unwrap_or_default();
    let _ = items.first().map(|item| item.price + 1.0);
    drop(page);
    Ok(bucket.map(TradeBucket::into_records).unwrap_or_default())
}

fn main() {
    let _ = uses;
}
