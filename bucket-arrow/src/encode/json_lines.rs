//! JSON lines: one object for each record.

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use super::cell::{self, Style};
use crate::extended_json::quoted;

/// A line for each record. Each has all columns: a reader takes their types from the first lines.
pub(super) fn write(batch: &RecordBatch, to: &mut Vec<u8>) -> Result<(), ArrowError> {
    let schema = batch.schema();
    let names: Vec<String> = schema
        .fields()
        .iter()
        .map(|field| quoted(field.name()))
        .collect();
    let mut line = String::new();
    for row in 0..batch.num_rows() {
        line.clear();
        line.push('{');
        for (at, (column, name)) in batch.columns().iter().zip(&names).enumerate() {
            if at > 0 {
                line.push(',');
            }
            line.push_str(name);
            line.push(':');
            cell::write(column.as_ref(), row, Style::Json, &mut line)?;
        }
        line.push_str("}\n");
        to.extend_from_slice(line.as_bytes());
    }
    Ok(())
}
