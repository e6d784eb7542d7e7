use bucket_mongo::{Bucketed, mongodb::Database};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", capacity = 10)]
enum Trade {
    Bought,
}

fn uses(db: &Database) -> Option<TradeBucket> {
    let _ = Trade::buckets(db);
    None
}

fn main() {
    let _ = uses;
}
