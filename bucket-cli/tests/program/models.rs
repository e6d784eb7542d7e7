//! The models of the example.

use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

/// A trade of a customer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[serde(rename_all = "camelCase")]
#[bucket(collection = "trades", items = "history", capacity = 10)]
pub struct Trade {
    #[bucket(key)]
    pub customer_id: i64,
    #[bucket(time)]
    pub date: DateTime,
    pub ticker: String,
    pub qty: i32,
}

/// A reading of a sensor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "readings",
    items = "readings",
    window = "1h",
    capacity = 100,
    merge = "day",
    seal_after = "7d",
    expire_after = "50y"
)]
pub struct Reading {
    #[bucket(key)]
    pub device: String,
    #[bucket(key)]
    pub channel: i32,
    #[bucket(time)]
    pub at: DateTime,
    #[bucket(min, max, sum)]
    pub value: f64,
}
