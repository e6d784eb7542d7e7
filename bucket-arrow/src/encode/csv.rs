//! Comma-separated values: RFC 4180, UTF-8, lines that end with a line feed.

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema};

use super::cell::{self, Style};

/// The line of names.
pub(super) fn header(schema: &Schema, to: &mut Vec<u8>) {
    for (at, field) in schema.fields().iter().enumerate() {
        if at > 0 {
            to.push(b',');
        }
        text(field.name(), to);
    }
    to.push(b'\n');
}

/// A line for each record.
pub(super) fn write(batch: &RecordBatch, to: &mut Vec<u8>) -> Result<(), ArrowError> {
    let mut value = String::new();
    for row in 0..batch.num_rows() {
        for (at, column) in batch.columns().iter().enumerate() {
            if at > 0 {
                to.push(b',');
            }
            // Nothing is a null, and an empty text has quotes.
            if column.is_valid(row) {
                value.clear();
                cell::write(column.as_ref(), row, Style::Csv, &mut value)?;
                text(&value, to);
            }
        }
        to.push(b'\n');
    }
    Ok(())
}

fn text(text: &str, to: &mut Vec<u8>) {
    let is_plain = !text.is_empty() && !text.contains(['"', ',', '\n', '\r']);
    if is_plain {
        to.extend_from_slice(text.as_bytes());
        return;
    }
    to.push(b'"');
    for byte in text.bytes() {
        if byte == b'"' {
            to.push(b'"');
        }
        to.push(byte);
    }
    to.push(b'"');
}
