//! Values as the server writes them into its messages.

use std::fmt::Write;

use crate::value::{Fields, Value};

/// `{ a: 1, b: "x" }`, as in the message of a duplicate key.
pub(crate) fn document<'a>(fields: impl IntoIterator<Item = (&'a str, &'a Value)>) -> String {
    let mut text = String::from("{ ");
    for (at, (name, value)) in fields.into_iter().enumerate() {
        if at > 0 {
            text.push_str(", ");
        }
        text.push_str(name);
        text.push_str(": ");
        write_value(&mut text, value);
    }
    text.push_str(" }");
    text
}

fn inner(fields: &Fields) -> String {
    document(fields.0.iter().map(|(name, value)| (&**name, value)))
}

/// A value on its own.
pub(crate) fn value(value: &Value) -> String {
    let mut text = String::new();
    write_value(&mut text, value);
    text
}

fn write_value(text: &mut String, value: &Value) {
    // Writing to a string never fails.
    let _ = match value {
        Value::MinKey => write!(text, "MinKey"),
        Value::MaxKey => write!(text, "MaxKey"),
        Value::Undefined => write!(text, "undefined"),
        Value::Null => write!(text, "null"),
        Value::Int32(number) => write!(text, "{number}"),
        Value::Int64(number) => write!(text, "{number}"),
        Value::Double(number) => write!(text, "{}", double(*number)),
        Value::String(string) => write!(text, "\"{string}\""),
        Value::Document(fields) if fields.0.is_empty() => write!(text, "{{}}"),
        Value::Document(fields) => write!(text, "{}", inner(fields)),
        Value::Array(items) if items.is_empty() => write!(text, "[]"),
        Value::Array(items) => {
            text.push_str("[ ");
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    text.push_str(", ");
                }
                write_value(text, item);
            }
            write!(text, " ]")
        }
        Value::Binary(bytes) => {
            let hex = hex(&bytes.1).to_uppercase();
            write!(text, "BinData({}, {hex})", u8::from(bytes.0))
        }
        Value::ObjectId(id) => write!(text, "ObjectId('{id}')"),
        Value::Boolean(value) => write!(text, "{value}"),
        Value::DateTime(millis) => write!(text, "new Date({millis})"),
        Value::Timestamp(stamp) => write!(text, "Timestamp({}, {})", stamp.time, stamp.increment),
    };
}

fn double(number: f64) -> String {
    if number.is_nan() {
        return "nan.0".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf.0" } else { "-inf.0" }.to_owned();
    }
    let text = digits(number, 16);
    if text.contains('.') {
        text
    } else {
        text + ".0"
    }
}

/// As C writes it with `%.<precision>g`.
pub(crate) fn digits(number: f64, precision: i32) -> String {
    let last = usize::try_from(precision - 1).unwrap_or_default();
    let scientific = format!("{number:.last$e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let trimmed = |text: &str| {
        let is_whole = !text.contains('.');
        let text = if is_whole {
            text
        } else {
            text.trim_end_matches('0').trim_end_matches('.')
        };
        text.to_owned()
    };
    if (-4..precision).contains(&exponent) {
        let places = usize::try_from(precision - 1 - exponent).unwrap_or_default();
        return trimmed(&format!("{number:.places$}"));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(digits), exponent.abs())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
