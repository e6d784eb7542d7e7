//! Trades and pages as tables.

use std::borrow::Borrow;

use bucket_mongo::{Referenced, bson::DateTime};
use example_kit::{
    table::{Cell, finished, number, table},
    text,
};

use crate::model::{Trade, TradeBucket};

const COLUMNS: [&str; 6] = ["date", "type", "ticker", "qty", "price", "ref"];

/// The trades of one customer.
pub(crate) fn trades<T: Borrow<Trade>>(trades: impl IntoIterator<Item = T>) -> String {
    let mut table = table(&COLUMNS[..5]);
    for trade in trades {
        table.add_row(cells(trade.borrow()));
    }
    finished(table)
}

/// The trades of one customer, and their references.
pub(crate) fn referenced(trades: &[Referenced<Trade>]) -> String {
    let mut table = table(&COLUMNS);
    for found in trades {
        let reference = Cell::new(&found.reference);
        table.add_row(cells(&found.record).into_iter().chain([reference]));
    }
    finished(table)
}

fn cells(trade: &Trade) -> [Cell; 5] {
    let price = trade
        .price
        .map_or_else(String::new, |price| format!("{price:.2}"));
    [
        Cell::new(text::short_date(trade.date)),
        Cell::new(trade.side),
        Cell::new(&trade.ticker),
        number(trade.qty),
        number(price),
    ]
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
