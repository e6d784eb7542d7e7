//! The trades of the manual's page "Group Data with the Bucket Pattern".

use bucket_mongo::bson::DateTime;

use crate::model::{Side, Trade};

/// The customers of the manual; no real one has these numbers.
pub(super) const CUSTOMERS: [i64; 2] = [123, 456];

/// The three trades that the page begins with.
pub(super) fn trades() -> [Trade; 3] {
    [
        // 2023-10-26T15:47:03.434Z, 2023-10-30T09:32:57.765Z, 2023-10-31T11:16:02.120Z
        trade(123, Side::Buy, "MDB", 419, 1_698_335_223_434),
        trade(123, Side::Sell, "MDB", 29, 1_698_658_377_765),
        trade(456, Side::Buy, "GOOG", 50, 1_698_750_962_120),
    ]
}

/// The trade that it appends.
pub(super) fn appended() -> Trade {
    // 2023-11-02T11:43:10Z
    trade(123, Side::Buy, "MSFT", 42, 1_698_925_390_000)
}

fn trade(customer_id: i64, side: Side, ticker: &str, qty: i32, millis: i64) -> Trade {
    let date = DateTime::from_millis(millis);
    Trade {
        customer_id,
        side,
        ticker: ticker.to_owned(),
        qty,
        price: None,
        date,
    }
}
