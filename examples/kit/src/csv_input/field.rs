//! Values of common kinds: the range of each, and the message for a value outside it.

use std::{num::IntErrorKind, str::FromStr};

use bucket_mongo::bson::DateTime;

/// The first characters of a long value are enough to find it.
const SHOWN: usize = 40;
/// Only a text of this form can be a date that does not exist.
const DATE_FORM: &[u8] = b"0000-00-00T00:00:00";

/// A whole number.
pub fn integer<T: FromStr<Err = std::num::ParseIntError>>(text: &str) -> Result<T, String> {
    use IntErrorKind::{NegOverflow, PosOverflow};
    present(text)?
        .parse()
        .map_err(|error: std::num::ParseIntError| match error.kind() {
            PosOverflow | NegOverflow => format!("{} is out of range", shown(text)),
            _ => format!("{} is not a whole number", shown(text)),
        })
}

/// A number; NaN and infinities are numbers too.
pub fn number(text: &str) -> Result<f64, String> {
    present(text)?
        .parse()
        .map_err(|_| format!("{} is not a number", shown(text)))
}

/// A text of any form.
pub fn name(text: &str) -> Result<String, String> {
    present(text).map(str::to_owned)
}

/// A date with its time zone. Parts finer than a millisecond are cut off.
pub fn date(text: &str) -> Result<DateTime, String> {
    DateTime::parse_rfc3339_str(present(text)?).map_err(|_| {
        if has_date_form(text) {
            format!("{} does not exist", shown(text))
        } else {
            format!("{} is not a date such as 2010-12-01T08:26:00Z", shown(text))
        }
    })
}

fn has_date_form(text: &str) -> bool {
    let same = |(byte, form): (u8, &u8)| match form {
        b'0' => byte.is_ascii_digit(),
        other => byte == *other,
    };
    text.len() > DATE_FORM.len() && text.bytes().zip(DATE_FORM).all(same)
}

/// The value, if there is one.
pub fn present(text: &str) -> Result<&str, String> {
    if text.is_empty() {
        Err("is empty".to_owned())
    } else {
        Ok(text)
    }
}

/// The value in backticks: on one line, harmless for a terminal, and not too long.
#[must_use]
pub fn shown(text: &str) -> String {
    let mut characters = text.chars();
    let start: String = characters
        .by_ref()
        .take(SHOWN)
        .flat_map(char::escape_debug)
        .collect();
    let more = if characters.next().is_some() {
        ".."
    } else {
        ""
    };
    format!("`{start}{more}`")
}
