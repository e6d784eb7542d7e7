//! Any serde value as BSON, straight into a buffer.
//!
//! The bytes are those that `bson::serialize_to_buffer` writes. What is simple in BSON (numbers,
//! text, documents, arrays) is written here, in code that the compiler can merge with the user's
//! `Serialize`; what has rules of its own there is given to `bson`: dates, object ids, uuids and the
//! like (`special`). Each value is asked for its form once, as there.
//!
//! Serde's own calls decide what is written, never the type of a field or the attributes of a
//! struct. So a `Serialize` by hand, `with` and every other attribute are right without being known.

use serde::Serialize;

mod by_bson;
mod check;
mod elements;
mod encoder;
mod entry_name;
mod names;
mod serializer;
mod special;

pub(crate) use self::{
    by_bson::no_document,
    check::{DOCUMENT_LEVELS, Findings, ITEM_LEVELS, Refusal, check_read},
    encoder::Encoder,
    names::{Constants, DataNames, KnownNames},
    special::is_special,
};
use super::raw::kind;
pub(crate) use bson::error::Error;

/// Appends a value that is a document to `buffer`, of at most so many levels of documents and arrays.
///
/// # Errors
///
/// If it is none, or cannot be stored; the buffer is to be cut off then.
pub(crate) fn append_document<T: Serialize>(
    value: &T,
    levels: usize,
    buffer: &mut Vec<u8>,
) -> Result<Findings, Refusal> {
    let at = buffer.len();
    // In the place of an element's type.
    buffer.push(0);
    let mut findings = Findings::default();
    let mut known = KnownNames::default();
    let mut encoder = Encoder::over(buffer, at, levels, &mut findings, &mut known);
    let written = value.serialize(&mut encoder);
    findings.of(written)?;
    if buffer.get(at) != Some(&kind::DOCUMENT) {
        return Err(Refusal::Serialize(by_bson::error_of(value)));
    }
    buffer.remove(at);
    Ok(findings)
}
