//! Models with `expire_after`, and the date that some of them store for it.

use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "iot_buckets",
    items = "readings",
    window = "1h",
    expire_after = "30d"
)]
struct Reading {
    #[bucket(key)]
    device_id: String,
    #[bucket(time)]
    at: DateTime,
    // No bucket of a window has a field of this name.
    expire_from: i64,
}

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", capacity = 10)]
#[bucket(expire_after = "24855d3h14m7s", expire_from = "dated")]
struct Trade {
    #[bucket(key)]
    customer_id: i64,
    #[bucket(time)]
    date: DateTime,
}

fn age_counts_from(bucket: &TradeBucket) -> Option<DateTime> {
    bucket.expire_from
}

#[test]
fn compiles_and_keeps_its_promises() {
    assert_eq!(Reading::SPEC.expire_after(), Some(2_592_000));
    assert_eq!(Trade::SPEC.expire_after(), Some(2_147_483_647));
    assert_eq!(TradeBucket::FIELDS.expire_from.as_str(), "dated");
    let _ = age_counts_from;
}
