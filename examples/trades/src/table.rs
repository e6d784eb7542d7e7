//! Trades and pages as tables.

use bucket_mongo::bson::DateTime;
use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};

use crate::{
    model::{Trade, TradeBucket},
    text,
};

/// A rule under the header and nothing else.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('-'));
/// Blanks to the left and to the right of each value.
const PADDING: (u16, u16) = (0, 2);

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

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_header(header.iter().copied());
    table
}

fn number(value: impl ToString) -> Cell {
    Cell::new(value).set_alignment(CellAlignment::Right)
}

/// With a line break at the end and no blanks before any.
fn finished(mut table: Table) -> String {
    for column in table.column_iter_mut() {
        column.set_padding(PADDING);
    }
    table.trim_fmt() + "\n"
}
