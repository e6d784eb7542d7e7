//! The server's order of values, across types.

use std::cmp::Ordering;

use crate::value::{Fields, Value};

/// The group of types that a value belongs to; groups follow each other.
pub(crate) fn bracket(value: &Value) -> u8 {
    match value {
        Value::MinKey => 0,
        Value::Undefined => 1,
        Value::Null => 5,
        Value::Int32(_) | Value::Int64(_) | Value::Double(_) => 10,
        Value::String(_) => 15,
        Value::Document(_) => 20,
        Value::Array(_) => 25,
        Value::Binary(_) => 30,
        Value::ObjectId(_) => 35,
        Value::Boolean(_) => 40,
        Value::DateTime(_) => 45,
        Value::Timestamp(_) => 47,
        Value::MaxKey => 127,
    }
}

/// Numbers compare by value, whatever their type. NaN equals itself and comes first.
pub(crate) fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Int32(a), Value::Int32(b)) => a.cmp(b),
        (Value::Int64(a), Value::Int64(b)) | (Value::DateTime(a), Value::DateTime(b)) => a.cmp(b),
        (Value::Int32(a), Value::Int64(b)) => i64::from(*a).cmp(b),
        (Value::Int64(a), Value::Int32(b)) => a.cmp(&i64::from(*b)),
        (Value::Double(a), Value::Double(b)) => doubles(*a, *b),
        (Value::Double(a), Value::Int32(b)) => doubles(*a, f64::from(*b)),
        (Value::Int32(a), Value::Double(b)) => doubles(f64::from(*a), *b),
        (Value::Double(a), Value::Int64(b)) => long_and_double(*b, *a).reverse(),
        (Value::Int64(a), Value::Double(b)) => long_and_double(*a, *b),
        (Value::String(a), Value::String(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Value::Document(a), Value::Document(b)) => documents(a, b),
        (Value::Array(a), Value::Array(b)) => {
            let mut pairs = a.iter().zip(b.iter());
            let first = pairs.find_map(|(a, b)| Some(compare(a, b)).filter(|it| it.is_ne()));
            first.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Value::Binary(a), Value::Binary(b)) => {
            let key = |it: &(bson::spec::BinarySubtype, Vec<u8>)| (it.1.len(), u8::from(it.0));
            key(a).cmp(&key(b)).then_with(|| a.1.cmp(&b.1))
        }
        (Value::ObjectId(a), Value::ObjectId(b)) => a.bytes().cmp(&b.bytes()),
        (Value::Boolean(a), Value::Boolean(b)) => a.cmp(b),
        (Value::Timestamp(a), Value::Timestamp(b)) => {
            (a.time, a.increment).cmp(&(b.time, b.increment))
        }
        _ => bracket(a).cmp(&bracket(b)),
    }
}

/// Field by field: the type, then the name, then the value.
fn documents(a: &Fields, b: &Fields) -> Ordering {
    for ((a_name, a), (b_name, b)) in a.0.iter().zip(&b.0) {
        let order = bracket(a)
            .cmp(&bracket(b))
            .then_with(|| a_name.cmp(b_name))
            .then_with(|| compare(a, b));
        if order.is_ne() {
            return order;
        }
    }
    a.0.len().cmp(&b.0.len())
}

fn doubles(a: f64, b: f64) -> Ordering {
    // Only NaN is incomparable.
    a.partial_cmp(&b)
        .unwrap_or_else(|| b.is_nan().cmp(&a.is_nan()))
}

/// Exact, even if a double cannot distinguish two 64-bit integers.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
fn long_and_double(a: i64, b: f64) -> Ordering {
    if b.is_nan() {
        return Ordering::Greater;
    }
    if b >= 9_223_372_036_854_775_808.0 {
        return Ordering::Less;
    }
    if b < -9_223_372_036_854_775_808.0 {
        return Ordering::Greater;
    }
    let whole = b.trunc();
    a.cmp(&(whole as i64)).then_with(|| doubles(whole, b))
}
