//! The model: one struct, from which the derive makes the bucket, its key and its items.

use std::fmt;

use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

/// A trade of one customer, stored with the other trades of that customer, ten a document.
///
/// The fields are in the order in which the manual prints them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[serde(rename_all = "camelCase")]
#[bucket(collection = "trades", items = "history", capacity = 10)]
pub(crate) struct Trade {
    #[bucket(key)]
    pub(crate) customer_id: i64,
    #[serde(rename = "type")]
    pub(crate) side: Side,
    pub(crate) ticker: String,
    pub(crate) qty: i32,
    /// The price of one piece. The manual's trades have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) price: Option<f64>,
    #[bucket(time)]
    pub(crate) date: DateTime,
}

/// Whether the customer bought or sold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Side {
    Buy,
    Sell,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Buy => "buy",
            Self::Sell => "sell",
        })
    }
}
