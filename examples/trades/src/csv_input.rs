//! Trades from CSV: the columns, and the values that each may hold.

mod field;

use example_kit::{
    Error,
    csv_input::{self, FromRow, RowError, Values},
};

use crate::model::Trade;

/// The built-in real trades.
const BUILT_IN: &[u8] = include_bytes!("../data/trades.csv");

impl FromRow for Trade {
    const COLUMNS: &'static [&'static str] =
        &["customer_id", "ticker", "type", "qty", "price", "date"];

    fn from_row(row: &Values<'_>) -> Result<Self, RowError> {
        use csv_input::field::{date, integer, name};
        Ok(Self {
            customer_id: row.read("customer_id", integer)?,
            ticker: row.read("ticker", name)?,
            side: row.read("type", field::side)?,
            qty: row.read("qty", field::quantity)?,
            price: row.read("price", field::price)?,
            date: row.read("date", date)?,
        })
    }
}

/// The built-in trades.
pub(crate) fn built_in() -> Result<Vec<Trade>, Error> {
    let rows = csv_input::built_in("trades", BUILT_IN)?;
    Ok(rows.into_iter().map(|row| row.record).collect())
}

#[cfg(test)]
mod tests;
