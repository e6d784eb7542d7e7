//! From one form of a stored document to the other: which change of it is due, and that it tells the
//! same afterwards.

mod command;
mod statement;

use bson::{Bson, Document, RawDocument, RawDocumentBuf};

pub use self::command::{FormBatch, FormReply};
use super::{
    AttributeArray, AttributeError, AttributeFault, DocumentError, DocumentFault, DocumentSpec,
    element::{Element, elements},
    fold,
    same::same_record,
    unfold,
};
use crate::{bucket::printed_id, raw::RawWriter};

/// How a document with attributes is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DocumentForm {
    /// In arrays: `{specs: [{k: "volume", v: 500, u: "ml"}]}`.
    Attributes,
    /// As serde writes the struct: `{volume_ml: 500}`.
    Fields,
}

/// The move of a collection to a form.
///
/// ```
/// use bucket_core::attribute::{Attributed, AttributeError, DocumentForm, Migration};
///
/// fn back<T: Attributed>() -> Result<Migration, AttributeError> {
///     Migration::new(T::SPEC, DocumentForm::Fields)
/// }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    arrays: &'static [AttributeArray],
    to: DocumentForm,
}

/// A change of one document to the other form.
///
/// It holds for the document as it was read: where a field that it is about has become another one, the
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
    arrays: Vec<AttributeArray>,
    before: RawDocumentBuf,
    set: RawDocumentBuf,
    unset: Vec<&'static str>,
}

/// How a document stands to what it was before its form was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sampled {
    /// It tells the same.
    Same,
    /// Its attributes are as they were written, other fields are not as they were: somebody else
    /// has written to it since.
    Rewritten,
    /// It is there no more.
    Gone,
    /// Its attributes are not those that were written.
    Differs,
}

impl Migration {
    /// The move of the documents of this model to a form.
    ///
    /// # Errors
    ///
    /// [`AttributeFault::NamedAsArray`] if one of the many fields has the name of an array.
    pub fn new(spec: &DocumentSpec, to: DocumentForm) -> Result<Self, AttributeError> {
        let arrays = spec.arrays();
        for array in arrays {
            let is_array = |name: &&str| arrays.iter().any(|array| array.name == *name);
            if let Some(name) = array.field_names().find(is_array) {
                return Err(AttributeError::of_field(
                    array,
                    name,
                    AttributeFault::NamedAsArray,
                ));
            }
        }
        Ok(Self { arrays, to })
    }

    /// The form that documents are moved to.
    #[must_use]
    pub fn to(&self) -> DocumentForm {
        self.to
    }

    /// The change that a stored document needs; none if it has nothing of the other form.
    ///
    /// A document that has something of both forms is merged.
    ///
    /// # Errors
    ///
    /// [`DocumentError`] if it cannot be moved: both forms tell of one attribute, a value is of another type
    /// than the model says, or the struct has no field for an entry.
    ///
    /// ```
    /// use bson::{Document, RawDocument, RawDocumentBuf};
    /// use bucket_core::attribute::{DocumentError, Migration};
    ///
    /// fn moved(migration: &Migration, stored: &RawDocument) -> Result<RawDocumentBuf, DocumentError> {
    ///     Ok(match migration.plan(stored)? {
    ///         Some(change) => change.after(),
    ///         None => stored.to_owned(),
    ///     })
    /// }
    /// ```
    pub fn plan(&self, stored: &RawDocument) -> Result<Option<FormChange>, DocumentError> {
        let error = |fault| DocumentError {
            id: Some(printed_id(stored)),
            fault,
        };
        let change = self.change(stored);
        let change = change.map_err(|source| error(DocumentFault::Attribute(source)))?;
        let Some(change) = change else {
            return Ok(None);
        };
        // What is read must not depend on how far the move has come.
        match same_record(&change.arrays, stored, &change.after()) {
            Ok(true) => Ok(Some(change)),
            Ok(false) | Err(_) => Err(error(DocumentFault::NotKept)),
        }
    }

    fn change(&self, stored: &RawDocument) -> Result<Option<FormChange>, AttributeError> {
        let names = elements(stored).map(|element| element.map(|element| element.name));
        let names: Vec<&str> = names
            .collect::<Result<_, _>>()
            .map_err(|fault| AttributeError::of_all(self.arrays, fault))?;
        let has = |name: &str| names.contains(&name);
        let is_due = |array: &&AttributeArray| self.leaving(array).any(has);
        let arrays: Vec<AttributeArray> = self.arrays.iter().filter(is_due).copied().collect();
        if arrays.is_empty() {
            return Ok(None);
        }
        let mut moved = unfold(&arrays, stored)?;
        if self.to == DocumentForm::Attributes {
            moved = fold(&arrays, &moved)?;
        }
        let comes = |name: &str| {
            let mut coming = arrays.iter().flat_map(|array| self.coming(array));
            coming.any(|coming| coming == name)
        };
        let set = RawWriter::build(|to| {
            // Both have just been written.
            for element in elements(&moved).flatten().filter(|e| comes(e.name)) {
                to.raw(element.kind, element.name, element.bytes);
            }
        });
        let leaving = arrays.iter().flat_map(|array| self.leaving(array));
        let unset = leaving.filter(|name| has(name)).collect();
        Ok(Some(FormChange {
            before: stored.to_owned(),
            set,
            unset,
            arrays,
        }))
    }

    /// The fields of the form that documents are moved from.
    fn leaving(&self, array: &AttributeArray) -> impl Iterator<Item = &'static str> + use<> {
        names(array, self.to == DocumentForm::Fields)
    }

    /// The fields of the form that documents are moved to.
    fn coming(&self, array: &AttributeArray) -> impl Iterator<Item = &'static str> + use<> {
        names(array, self.to == DocumentForm::Attributes)
    }

    /// A filter of the documents that have something of the other form.
    ///
    /// ```
    /// use bson::Document;
    /// use bucket_core::attribute::Migration;
    ///
    /// fn left(migration: &Migration) -> Document {
    ///     migration.pending()
    /// }
    /// ```
    #[must_use]
    pub fn pending(&self) -> Document {
        statement::any_of(self.arrays.iter().flat_map(|array| self.leaving(array)))
    }
}

/// The name of the array, or those of the many fields.
fn names(array: &AttributeArray, arrays: bool) -> impl Iterator<Item = &'static str> + use<> {
    let fields = array.field_names().filter(move |_| !arrays);
    arrays.then_some(array.name).into_iter().chain(fields)
}

/// The field of this name.
fn find<'a>(document: &'a RawDocument, name: &str) -> Option<Element<'a>> {
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
        Migration::id(&self.before)
    }

    /// The document as it is to become.
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

    /// The error of a change that the server refused.
    #[must_use]
    pub fn refused(&self, code: i32, message: String) -> DocumentError {
        self.error(DocumentFault::Refused { code, message })
    }

    fn error(&self, fault: DocumentFault) -> DocumentError {
        DocumentError {
            id: Some(printed_id(&self.before)),
            fault,
        }
    }

    /// Compares the document, as it was read after the change was made, with what it was before.
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

    /// Whether the fields that the change is about are as it writes them.
    fn is_written(&self, now: &RawDocument) -> bool {
        let after = self.after();
        self.names().all(|name| {
            let (written, found) = (find(&after, name), find(now, name));
            let same = written.zip(found);
            let same = same.map(|(a, b)| a.kind == b.kind && a.bytes == b.bytes);
            same.unwrap_or(written.is_none() && found.is_none())
        })
    }

    /// The fields that the change is about, whether they are there or not.
    fn names(&self) -> impl Iterator<Item = &'static str> {
        let names = |array: &AttributeArray| names(array, true).chain(names(array, false));
        self.arrays.iter().flat_map(names)
    }
}
