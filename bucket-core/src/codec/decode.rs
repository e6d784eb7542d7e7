//! Decodes an item as `bson` does, in a fraction of the time.
//!
//! This code reads numbers, text, booleans, null, documents, arrays, and the date of a record's
//! time. Other values have special rules in `bson`: if an item contains one, `bson` reads the whole
//! item. So the result always equals that of `bson`; `decode/tests.rs` and `decode/serde_forms.rs`
//! compare the two.
//!
//! | piece | file |
//! | --- | --- |
//! | what serde asks of a value | `value` |
//! | values in the bytes of a document | `bytes` |
//! | values in packed columns | `columns` |

mod bytes;
#[cfg(feature = "seal")]
mod columns;
mod value;

use std::cell::Cell;

use bson::error::Error;
use serde::de::DeserializeOwned;

pub(crate) use self::value::DATE;
use self::{
    bytes::Bytes,
    value::{Leave, Stored, Value},
};

/// Reads a document.
pub(crate) fn decode<T: DeserializeOwned>(document: &[u8]) -> Result<T, Error> {
    let decoded = of(Bytes::of_document(document));
    decoded.unwrap_or_else(|| bson::deserialize_from_slice(document))
}

/// Reads a document that is in columns; `None` if it has to be put together for that.
#[cfg(feature = "seal")]
pub(crate) fn decode_row<T: DeserializeOwned>(
    row: bucket_columns::Row<'_>,
) -> Option<Result<T, Error>> {
    of(columns::Column::Document(row))
}

/// Reads a document; `None` if `bson` must. Even after a success: an implementation may have turned an error into a
/// value.
fn of<'de, T: DeserializeOwned, S: Stored<'de>>(stored: S) -> Option<Result<T, Error>> {
    let foreign = Cell::new(false);
    let leave = Leave::new(&foreign);
    let decoded = T::deserialize(Value { stored, leave });
    (!foreign.get()).then_some(decoded)
}

#[cfg(test)]
mod serde_forms;
#[cfg(test)]
mod tests;
