//! What identifies a record by its contents.

use bson::{Document, RawDocument, RawDocumentBuf};
use sha2::{Digest, Sha256};

use crate::{
    bucket::record::Record,
    codec::{
        encode::{DOCUMENT_LEVELS, append_document},
        raw::{Element, elements, kind},
    },
    error::EncodeError,
};

/// The first 128 bits of the SHA-256 of what serde writes for a record, with the fields of each document in the order of their
/// names: a map may give them in another order each time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub(super) u128);

impl Fingerprint {
    /// The fingerprint of a record.
    ///
    /// # Errors
    ///
    /// [`EncodeError`] if serde cannot write it.
    pub fn of<T: Record>(record: &T) -> Result<Self, EncodeError> {
        let mut digest = Sha256::new();
        add(&written(record)?, kind::DOCUMENT, &mut digest);
        let digest: [u8; 32] = digest.finalize().into();
        let (first, _) = digest.split_at(16);
        let mut bytes = [0; 16];
        bytes.copy_from_slice(first);
        Ok(Self(u128::from_le_bytes(bytes)))
    }
}

/// What serde writes for a record.
///
/// # Errors
///
/// [`EncodeError`] if it cannot.
pub fn document_of<T: Record>(record: &T) -> Result<Document, EncodeError> {
    Document::try_from(written(record)?.as_ref())
        .map_err(|source| EncodeError::Serialize(source.into()))
}

fn written<T: Record>(record: &T) -> Result<RawDocumentBuf, EncodeError> {
    let mut form = Vec::new();
    append_document(record, DOCUMENT_LEVELS, &mut form)
        .map_err(|refusal| refusal.of_record(DOCUMENT_LEVELS))?;
    RawDocumentBuf::from_bytes(form).map_err(|source| EncodeError::Serialize(source.into()))
}

/// Adds the fields of a document, each with its length where another value could go on.
fn add(document: &RawDocument, of: u8, digest: &mut Sha256) {
    // What serde wrote is valid.
    let mut fields: Vec<Element<'_>> = elements(document).filter_map(Result::ok).collect();
    if of == kind::DOCUMENT && !fields.is_sorted_by_key(|field| field.name) {
        fields.sort_by_key(|field| field.name);
    }
    let number = fields.len() as u64;
    digest.update(number.to_le_bytes());
    for field in fields {
        digest.update([field.kind]);
        let length = field.name.len() as u64;
        digest.update(length.to_le_bytes());
        digest.update(field.name.as_bytes());
        let nested = matches!(field.kind, kind::DOCUMENT | kind::ARRAY);
        match RawDocument::from_bytes(field.bytes) {
            Ok(document) if nested => add(document, field.kind, digest),
            _ => {
                let length = field.bytes.len() as u64;
                digest.update(length.to_le_bytes());
                digest.update(field.bytes);
            }
        }
    }
}
