//! A value of a column as text.

use std::fmt::Write as _;

use arrow_array::{
    Array,
    cast::AsArray,
    types::{
        Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
        TimestampMillisecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_schema::{ArrowError, DataType};

use crate::{civil, extended_json::quoted, hexadecimal};

/// How texts and numbers that JSON lacks are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Json,
    /// As JSON inside of lists and structs, and without quotes outside of them.
    Csv,
}

/// Writes a value. A null is `null`.
pub(super) fn write(
    array: &dyn Array,
    row: usize,
    style: Style,
    to: &mut String,
) -> Result<(), ArrowError> {
    if array.is_null(row) {
        to.push_str("null");
        return Ok(());
    }
    macro_rules! number {
        ($ty:ty) => {{
            // Writing to a string cannot fail.
            let _ = write!(to, "{}", array.as_primitive::<$ty>().value(row));
        }};
    }
    match array.data_type() {
        DataType::Boolean => to.push_str(if array.as_boolean().value(row) {
            "true"
        } else {
            "false"
        }),
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Float32 => {
            let value = array.as_primitive::<Float32Type>().value(row);
            float(value.into(), &format!("{value:?}"), style, to);
        }
        DataType::Float64 => {
            let value = array.as_primitive::<Float64Type>().value(row);
            float(value, &format!("{value:?}"), style, to);
        }
        DataType::Timestamp(..) => {
            let millis = array.as_primitive::<TimestampMillisecondType>().value(row);
            text(&civil::iso(millis), style, to);
        }
        DataType::Utf8 => text(array.as_string::<i32>().value(row), style, to),
        DataType::Binary => text(
            &hexadecimal::text(array.as_binary::<i32>().value(row)),
            style,
            to,
        ),
        DataType::List(_) => {
            let items = array.as_list::<i32>().value(row);
            to.push('[');
            for at in 0..items.len() {
                if at > 0 {
                    to.push(',');
                }
                write(items.as_ref(), at, Style::Json, to)?;
            }
            to.push(']');
        }
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            let (keys, values) = (entries.column(0).as_string::<i32>(), entries.column(1));
            to.push('{');
            for at in 0..entries.len() {
                if at > 0 {
                    to.push(',');
                }
                to.push_str(&quoted(keys.value(at)));
                to.push(':');
                write(values.as_ref(), at, Style::Json, to)?;
            }
            to.push('}');
        }
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns();
            to.push('{');
            for (at, (field, column)) in fields.iter().zip(columns).enumerate() {
                if at > 0 {
                    to.push(',');
                }
                to.push_str(&quoted(field.name()));
                to.push(':');
                write(column.as_ref(), row, Style::Json, to)?;
            }
            to.push('}');
        }
        other => {
            let message = format!("a column of the type {other} has no text");
            return Err(ArrowError::NotYetImplemented(message));
        }
    }
    Ok(())
}

/// A number that JSON lacks is a text in it.
fn float(value: f64, shown: &str, style: Style, to: &mut String) {
    if value.is_finite() {
        to.push_str(shown);
    } else {
        let name = if value.is_nan() {
            "NaN"
        } else if value > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        };
        text(name, style, to);
    }
}

fn text(text: &str, style: Style, to: &mut String) {
    match style {
        Style::Csv => to.push_str(text),
        Style::Json => to.push_str(&quoted(text)),
    }
}
