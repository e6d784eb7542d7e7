//! Serde attributes of fields and of the struct mean in the item what they mean in the record.

use std::collections::BTreeMap;

use bucket_mongo::{
    Bucketed,
    bson::{self, DateTime, doc},
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[serde(
    rename_all = "SCREAMING-KEBAB-CASE",
    deny_unknown_fields,
    rename = "Stock"
)]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade {
    #[bucket(key)]
    #[serde(default, alias = "customer")]
    customer_id: i64,
    #[bucket(time)]
    #[serde(rename = "d")]
    trade_date: DateTime,
    #[serde(rename = "t", alias = "symbol", default = "unknown")]
    ticker: String,
    #[serde(skip)]
    cached: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(skip_serializing, default)]
    secret: u8,
    #[serde(skip_serializing)]
    hidden: Option<u8>,
    #[serde(skip_deserializing)]
    written: u8,
    #[serde(with = "text")]
    unit_price: i64,
}

fn unknown() -> String {
    "?".to_owned()
}

mod text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(price: &i64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(price)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "readings", items = "readings", capacity = 10)]
struct Reading {
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
    #[serde(flatten)]
    values: BTreeMap<String, f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[serde(default)]
#[bucket(collection = "orders", items = "orders", capacity = 10)]
struct Order {
    #[bucket(key)]
    customer: i64,
    #[bucket(time)]
    at: DateTime,
    qty: u32,
}

impl Default for Order {
    fn default() -> Self {
        Self {
            customer: 0,
            at: DateTime::MIN,
            qty: 7,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[serde(default = "first_bid")]
#[bucket(collection = "bids", items = "bids", capacity = 10)]
struct Bid {
    #[bucket(key)]
    customer: i64,
    #[bucket(time)]
    at: DateTime,
    qty: u32,
}

fn first_bid() -> Bid {
    Bid {
        customer: 0,
        at: DateTime::MIN,
        qty: 9,
    }
}

#[test]
fn compiles_and_keeps_its_promises() {
    let at = DateTime::MIN;
    let item: TradeItem =
        bson::deserialize_from_document(doc! { "d": at, "UNIT-PRICE": "12" }).unwrap();
    assert_eq!(
        (item.ticker.as_str(), item.unit_price, item.written),
        ("?", 12, 0)
    );
    let stored = bson::serialize_to_document(&item).unwrap();
    assert_eq!(
        stored,
        doc! { "d": at, "t": "?", "WRITTEN": 0, "UNIT-PRICE": "12" }
    );
    let unknown = doc! { "d": at, "UNIT-PRICE": "12", "more": 1 };
    assert!(bson::deserialize_from_document::<TradeItem>(unknown).is_err());

    let reading: ReadingItem =
        bson::deserialize_from_document(doc! { "at": at, "a": 1.5, "b": 2.5 }).unwrap();
    assert_eq!(reading.values["b"], 2.5);

    let order: OrderItem = bson::deserialize_from_document(doc! { "at": at }).unwrap();
    assert_eq!(order.qty, 7);
    let bid: BidItem = bson::deserialize_from_document(doc! { "at": at }).unwrap();
    assert_eq!(bid.qty, 9);
}
