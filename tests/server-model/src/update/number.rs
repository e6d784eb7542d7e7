//! The server's addition.

use crate::value::Value;

/// The sum, in the smallest type that holds it; `None` if 64 bits do not.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn add(a: &Value, b: &Value) -> Option<Value> {
    Some(match (a, b) {
        (Value::Int32(a), Value::Int32(b)) => match a.checked_add(*b) {
            Some(sum) => Value::Int32(sum),
            None => Value::Int64(i64::from(*a) + i64::from(*b)),
        },
        (Value::Int64(a), Value::Int64(b)) => Value::Int64(a.checked_add(*b)?),
        (Value::Int32(a), Value::Int64(b)) | (Value::Int64(b), Value::Int32(a)) => {
            Value::Int64(i64::from(*a).checked_add(*b)?)
        }
        (a, b) => Value::Double(a.as_double()? + b.as_double()?),
    })
}
