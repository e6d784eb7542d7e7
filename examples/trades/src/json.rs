//! The form of trades and buckets in `--json`: plain numbers, dates as RFC 3339 strings.
//!
//! BSON's own JSON form is extended JSON, which is for databases and not for `jq`.

use bucket_mongo::Referenced;
use example_kit::text;
use serde::Serialize;

use crate::model::{Side, Trade, TradeBucket, TradeItem};

/// A trade of a page.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record<'a> {
    customer_id: i64,
    #[serde(flatten)]
    item: Item<'a>,
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    reference: Option<&'a str>,
}

impl<'a> Record<'a> {
    /// The trade with its reference.
    pub(crate) fn with_ref(found: &'a Referenced<Trade>) -> Self {
        Self {
            reference: Some(found.reference.as_str()),
            ..Self::from(&found.record)
        }
    }
}

/// A trade in a bucket.
#[derive(Debug, Serialize)]
struct Item<'a> {
    #[serde(rename = "type")]
    side: Side,
    ticker: &'a str,
    qty: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    price: Option<f64>,
    date: String,
}

/// A stored document.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Bucket<'a> {
    #[serde(rename = "_id")]
    id: &'a str,
    customer_id: i64,
    count: u32,
    history: Vec<Item<'a>>,
}

impl<'a> From<&'a Trade> for Record<'a> {
    fn from(trade: &'a Trade) -> Self {
        let Trade {
            customer_id,
            side,
            ticker,
            qty,
            price,
            date,
        } = trade;
        let date = text::date(*date);
        let item = Item {
            side: *side,
            ticker,
            qty: *qty,
            price: *price,
            date,
        };
        Self {
            customer_id: *customer_id,
            item,
            reference: None,
        }
    }
}

impl<'a> From<&'a TradeItem> for Item<'a> {
    fn from(item: &'a TradeItem) -> Self {
        let TradeItem {
            side,
            ticker,
            qty,
            price,
            date,
        } = item;
        Self {
            side: *side,
            ticker,
            qty: *qty,
            price: *price,
            date: text::date(*date),
        }
    }
}

impl<'a> From<&'a TradeBucket> for Bucket<'a> {
    fn from(bucket: &'a TradeBucket) -> Self {
        Self {
            id: bucket.id.as_str(),
            customer_id: bucket.customer_id,
            count: bucket.count,
            history: bucket.history.iter().map(Item::from).collect(),
        }
    }
}
