//! The one-line objects of `--json`.

use std::io::Write;

use serde::Serialize;

use crate::error::Error;

/// Writes a value as a line.
pub fn print(value: &impl Serialize, out: &mut impl Write) -> Result<(), Error> {
    serde_json::to_writer(&mut *out, value)?;
    writeln!(out)?;
    Ok(())
}

/// The object for an error.
#[must_use]
pub fn error(message: &str) -> String {
    serde_json::json!({ "error": message }).to_string()
}

/// The object for a remark.
#[must_use]
pub fn note(message: &str) -> String {
    serde_json::json!({ "note": message }).to_string()
}
