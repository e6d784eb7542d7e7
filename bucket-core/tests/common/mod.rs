//! The manual's trades and a two-part key, as the tests of this folder use them.
#![allow(dead_code, unreachable_pub, missing_docs, clippy::unwrap_used)]

use bson::DateTime;
use bucket_derive::Bucketed;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[serde(rename_all = "camelCase")]
#[bucket(collection = "trades", items = "history", capacity = 10, crate = ::bucket_core)]
pub struct Trade {
    #[bucket(key)]
    pub customer_id: i64,
    #[serde(rename = "type")]
    pub side: String,
    pub ticker: String,
    pub qty: i32,
    #[bucket(time)]
    pub date: DateTime,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "readings", items = "readings", capacity = 3, crate = ::bucket_core)]
pub struct Reading {
    #[bucket(key)]
    pub device: String,
    #[bucket(key)]
    pub channel: String,
    #[bucket(time)]
    pub at: DateTime,
    pub value: i32,
}

/// The date of an RFC 3339 text.
pub fn date(text: &str) -> DateTime {
    DateTime::parse_rfc3339_str(text).unwrap()
}

pub fn trade(customer_id: i64, side: &str, ticker: &str, qty: i32, at: &str) -> Trade {
    Trade {
        customer_id,
        side: side.into(),
        ticker: ticker.into(),
        qty,
        date: date(at),
    }
}

pub fn reading(device: &str, millis: i64, value: i32) -> Reading {
    let at = DateTime::from_millis(millis);
    Reading {
        device: device.into(),
        channel: "c".into(),
        at,
        value,
    }
}
