//! Encodes any serde value as BSON, straight into a buffer.
//!
//! The bytes are those that `bson::serialize_to_buffer` writes. This code writes what is simple in
//! BSON (numbers, text, documents, arrays), so that the compiler can merge it with the user's
//! `Serialize`. It passes values with special rules to `bson`: dates, object ids, uuids and the
//! like (`special`). As in `bson`, each value is serialised once.
//!
//! Only serde's own calls decide what is written, never the type of a field or the attributes of a
//! struct. So a manual `Serialize`, `with` and every other attribute work without special support.

use bson::RawDocumentBuf;
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
use crate::error::EncodeError;
pub(crate) use bson::error::Error;

/// Appends a document value to `buffer`, with at most this many levels of documents and arrays.
///
/// # Errors
///
/// If the value is not a document, or cannot be stored. The caller must then truncate the buffer.
pub(crate) fn append_document<T: Serialize>(
    value: &T,
    levels: usize,
    buffer: &mut Vec<u8>,
) -> Result<Findings, Refusal> {
    let at = buffer.len();
    // A placeholder for an element's type.
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

/// What serde writes for a record: the document of a flat collection.
pub(crate) fn record_document<T: Serialize>(record: &T) -> Result<RawDocumentBuf, EncodeError> {
    let mut document = Vec::new();
    append_document(record, DOCUMENT_LEVELS, &mut document)
        .map_err(|refusal| refusal.of_record(DOCUMENT_LEVELS))?;
    RawDocumentBuf::from_bytes(document).map_err(|source| EncodeError::Serialize(source.into()))
}
