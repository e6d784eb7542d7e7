//! The elements of a document as bytes.

use bson::{RawBsonRef, RawDocument};

use super::AttributeFault;

/// An element: its name, and its value in two forms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Element<'a> {
    pub(crate) name: &'a str,
    /// The byte of its type.
    pub(crate) kind: u8,
    /// The bytes of its value.
    pub(crate) bytes: &'a [u8],
    pub(crate) value: RawBsonRef<'a>,
}

impl<'a> Element<'a> {
    /// The entries of an array, whose bytes are those of a document.
    pub(super) fn entries(
        self,
    ) -> Result<impl Iterator<Item = Result<Element<'a>, AttributeFault>>, AttributeFault> {
        let document = RawDocument::from_bytes(self.bytes);
        document
            .map(elements)
            .map_err(|_| AttributeFault::Malformed)
    }
}

/// The elements of a document.
pub(crate) fn elements(
    document: &RawDocument,
) -> impl Iterator<Item = Result<Element<'_>, AttributeFault>> {
    // Behind the length.
    let mut at = 4;
    document.iter_elements().map(move |element| {
        let element = element.map_err(|_| AttributeFault::Malformed)?;
        let name = element.key().as_str();
        let value_at = at + 1 + name.len() + 1;
        let end = value_at + element.size();
        let all = document.as_bytes();
        let found = Element {
            name,
            kind: all.get(at).copied().unwrap_or_default(),
            bytes: all.get(value_at..end).ok_or(AttributeFault::Malformed)?,
            value: element.value().map_err(|_| AttributeFault::Malformed)?,
        };
        at = end;
        Ok(found)
    })
}
