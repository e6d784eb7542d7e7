//! What identifies a record by its contents.

use std::array;

use bson::{Document, RawDocument};
use sha2::{Digest, Sha256};

use crate::{
    bucket::record::Record,
    codec::{
        encode::record_document,
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
        add(&record_document(record)?, kind::DOCUMENT, &mut digest);
        let digest: [u8; 32] = digest.finalize().into();
        Ok(Self(u128::from_le_bytes(array::from_fn(|at| digest[at]))))
    }
}

/// What serde writes for a record.
///
/// # Errors
///
/// [`EncodeError`] if it cannot.
pub fn document_of<T: Record>(record: &T) -> Result<Document, EncodeError> {
    Document::try_from(record_document(record)?.as_ref())
        .map_err(|source| EncodeError::Serialize(source.into()))
}

/// Adds the fields of a document, each with its length where another value could go on.
fn add(document: &RawDocument, of: u8, digest: &mut Sha256) {
    // What serde wrote is valid. If it were not, none of it may be left out.
    let Ok(mut fields) = elements(document).collect::<Result<Vec<Element<'_>>, _>>() else {
        return digest.update(document.as_bytes());
    };
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
