//! The values that the columns of trades may hold, other than numbers, names and dates.

use example_kit::csv_input::field::{integer, present, shown};

use crate::model::Side;

/// A number of pieces: at least one, because a return is a trade of type `sell`.
pub(super) fn quantity(text: &str) -> Result<i32, String> {
    match integer(text)? {
        quantity @ 1.. => Ok(quantity),
        _ => Err(format!("{} is less than 1", shown(text))),
    }
}

/// `buy` or `sell`.
pub(super) fn side(text: &str) -> Result<Side, String> {
    match present(text)? {
        "buy" => Ok(Side::Buy),
        "sell" => Ok(Side::Sell),
        _ => Err(format!("{} is neither `buy` nor `sell`", shown(text))),
    }
}

/// A price from 0, or nothing.
pub(super) fn price(text: &str) -> Result<Option<f64>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    match text.parse::<f64>() {
        Ok(price) if price.is_finite() && price >= 0.0 => Ok(Some(price)),
        Ok(price) if price < 0.0 => Err(format!("{} is less than 0", shown(text))),
        _ => Err(format!("{} is not a number", shown(text))),
    }
}
