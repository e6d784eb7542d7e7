//! A user's blanket trait with the methods that generated code might call.
#![allow(dead_code)]

use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

trait Everywhere {
    fn field(&self) -> u8 {
        0
    }
    fn finish(&self) -> u8 {
        0
    }
    fn debug_struct(&self) -> u8 {
        0
    }
}

impl<T> Everywhere for T {}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade {
    #[bucket(key)]
    customer_id: i64,
    #[bucket(time)]
    date: DateTime,
}

#[test]
fn compiles_and_keeps_its_promises() {
    let item = TradeItem {
        date: DateTime::from_millis(0),
    };
    assert!(format!("{item:?}").starts_with("TradeItem { date: "));
    assert_eq!(item.clone(), item);
}
