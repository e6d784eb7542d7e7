//! The change of one document to the other form.

use bson::{Bson, RawDocument, RawDocumentBuf};

use crate::{
    attribute::{AttributeArray, DocumentError, DocumentFault, same_record::same_record},
    codec::raw::{Element, RawWriter, elements, printed_id},
};

/// A change of one document to the other form.
///
/// It applies to the document as it was read. If one of the affected fields has changed since, the
/// statement changes nothing.
///
/// ```
/// use bucket_core::attribute::FormChange;
///
/// fn describe(change: &FormChange) -> String {
///     format!("{:?} -> {:?}", change.before(), change.after())
/// }
/// ```
#[derive(Debug, Clone)]
pub struct FormChange {
    pub(super) arrays: Vec<AttributeArray>,
    pub(super) before: RawDocumentBuf,
    pub(super) set: RawDocumentBuf,
    pub(super) unset: Vec<&'static str>,
}

/// How a document compares with its state before its form was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sampled {
    /// It has the same content.
    Same,
    /// Its attributes are as written, but other fields differ: another client has written to it
    /// since.
    Rewritten,
    /// It no longer exists.
    Gone,
    /// Its attributes differ from those that were written.
    Differs,
}

/// The name of the array, or those of the many fields.
pub(super) fn names(
    array: &AttributeArray,
    arrays: bool,
) -> impl Iterator<Item = &'static str> + use<> {
    let fields = array.field_names().filter(move |_| !arrays);
    arrays.then_some(array.name).into_iter().chain(fields)
}

/// The `_id` of a stored document; null if it has none, which stored documents never lack.
pub(super) fn id_of(stored: &RawDocument) -> Bson {
    let id = stored.get("_id").ok().flatten();
    id.and_then(|id| id.try_into().ok()).unwrap_or(Bson::Null)
}

/// The field of this name.
pub(super) fn find<'a>(document: &'a RawDocument, name: &str) -> Option<Element<'a>> {
    let mut all = elements(document).flatten();
    all.find(|element| element.name == name)
}

impl FormChange {
    /// The document as it was read.
    #[must_use]
    pub fn before(&self) -> &RawDocument {
        &self.before
    }

    /// Its `_id`.
    #[must_use]
    pub fn id(&self) -> Bson {
        id_of(&self.before)
    }

    /// The document after the change.
    #[must_use]
    pub fn after(&self) -> RawDocumentBuf {
        let mut set: Vec<_> = elements(&self.set).flatten().collect();
        RawWriter::build(|to| {
            for element in elements(&self.before).flatten() {
                if let Some(at) = set.iter().position(|new| new.name == element.name) {
                    let new = set.remove(at);
                    to.raw(new.kind, new.name, new.bytes);
                } else if !self.unset.contains(&element.name) {
                    to.raw(element.kind, element.name, element.bytes);
                }
            }
            for new in set {
                to.raw(new.kind, new.name, new.bytes);
            }
        })
    }

    /// The error for a change that the server refused.
    #[must_use]
    pub fn refused(&self, code: i32, message: String) -> DocumentError {
        self.error(DocumentFault::Refused { code, message })
    }

    pub(super) fn error(&self, fault: DocumentFault) -> DocumentError {
        DocumentError {
            id: Some(printed_id(&self.before)),
            is_stored: true,
            fault,
        }
    }

    /// Compares the document, as read after the change, with its state before.
    ///
    /// ```
    /// use bucket_core::attribute::{FormChange, Sampled};
    ///
    /// fn is_kept(change: &FormChange, now: &bson::RawDocument) -> bool {
    ///     change.compare(Some(now)) == Sampled::Same
    /// }
    /// ```
    #[must_use]
    pub fn compare(&self, now: Option<&RawDocument>) -> Sampled {
        let Some(now) = now else {
            return Sampled::Gone;
        };
        match same_record(&self.arrays, &self.before, now) {
            Ok(true) => Sampled::Same,
            _ if self.is_written(now) => Sampled::Rewritten,
            _ => Sampled::Differs,
        }
    }

    /// Whether the affected fields are as the change writes them.
    fn is_written(&self, now: &RawDocument) -> bool {
        let after = self.after();
        self.names().all(|name| {
            let (written, found) = (find(&after, name), find(now, name));
            let same = written.zip(found);
            let same = same.map(|(a, b)| a.kind == b.kind && a.bytes == b.bytes);
            same.unwrap_or(written.is_none() && found.is_none())
        })
    }

    /// The fields that the change affects, present or not.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        let names = |array: &AttributeArray| names(array, true).chain(names(array, false));
        self.arrays.iter().flat_map(names)
    }
}
