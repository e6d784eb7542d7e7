//! Trades and pages as tables.

use bucket_mongo::bson::DateTime;
use example_kit::{
    table::{Cell, finished, number, table},
    text,
};

use crate::model::{Trade, TradeBucket};

/// The trades of one customer.
pub(crate) fn trades(trades: &[Trade]) -> String {
    let mut table = table(&["date", "type", "ticker", "qty", "price"]);
    for trade in trades {
        let price = trade
            .price
            .map_or_else(String::new, |price| format!("{price:.2}"));
        table.add_row([
            Cell::new(text::short_date(trade.date)),
            Cell::new(trade.side),
            Cell::new(&trade.ticker),
            number(trade.qty),
            number(price),
        ]);
    }
    finished(table)
}

/// The pages of one customer, without their trades.
pub(crate) fn pages(buckets: &[TradeBucket]) -> String {
    let mut table = table(&["page", "_id", "count", "first date", "last date"]);
    for (index, bucket) in buckets.iter().enumerate() {
        let dates = bucket.history.iter().map(|item| item.date);
        let cell =
            |date: Option<DateTime>| Cell::new(date.map(text::short_date).unwrap_or_default());
        table.add_row([
            number(index + 1),
            Cell::new(&bucket.id),
            number(bucket.count),
            cell(dates.clone().min()),
            cell(dates.max()),
        ]);
    }
    finished(table)
}
