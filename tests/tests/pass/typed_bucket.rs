//! The typed bucket: its parts, its records, and serde's traits for the plain driver.

use bucket_mongo::{
    Bucketed,
    bson::{self, DateTime, doc},
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[serde(rename_all = "camelCase")]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade {
    #[bucket(key)]
    customer_id: i64,
    ticker: String,
    #[bucket(time)]
    date: DateTime,
}

#[test]
fn compiles_and_keeps_its_promises() {
    let date = DateTime::from_millis(1_698_335_223_434);
    let stored = doc! {
        "_id": "123_1698335223",
        "customerId": 123_i64,
        "count": 1,
        "history": [{ "ticker": "MDB", "date": date }],
    };
    let bucket: TradeBucket = bson::deserialize_from_document(stored.clone()).unwrap();
    assert_eq!(bucket.id.as_str(), "123_1698335223");
    assert_eq!((bucket.customer_id, bucket.count), (123, 1));
    assert_eq!(
        bucket.history,
        [TradeItem {
            ticker: "MDB".to_owned(),
            date
        }]
    );
    assert_eq!(bucket.key(), TradeKey { customer_id: 123 });

    let written = bson::serialize_to_document(&bucket).unwrap();
    assert_eq!(
        written.keys().collect::<Vec<_>>(),
        stored.keys().collect::<Vec<_>>()
    );
    assert_eq!(written.get("history"), stored.get("history"));

    let records = bucket.clone().into_records();
    assert_eq!(
        records,
        [Trade {
            customer_id: 123,
            ticker: "MDB".to_owned(),
            date
        }]
    );
    assert_eq!(bucket.clone(), bucket);
}
