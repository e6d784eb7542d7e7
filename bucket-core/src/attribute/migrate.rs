//! Moves stored documents from one form to the other: which change is needed, and a check that the
//! record stays the same.

mod form_batch;
mod form_change;
mod statement;

use bson::{Document, RawDocument};

use self::form_change::names;
pub use self::{
    form_batch::{FormBatch, FormReply},
    form_change::{FormChange, Sampled},
};
use super::{
    AttributeArray, AttributeError, AttributeFault, DocumentError, DocumentFault, DocumentSpec,
    fold, same_record::same_record, unfold,
};
use crate::codec::raw::{RawWriter, elements, printed_id};

/// How a document with attributes is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DocumentForm {
    /// In arrays: `{specs: [{k: "volume", v: 500, u: "ml"}]}`.
    Attributes,
    /// As serde writes the struct: `{volume_ml: 500}`.
    Fields,
}

/// The move of a collection to one form.
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

impl Migration {
    /// The move of this model's documents to a form.
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

    /// The change that a stored document needs; `None` if it has nothing in the other form.
    ///
    /// A document with parts in both forms is merged.
    ///
    /// # Errors
    ///
    /// [`DocumentError`] if it cannot be moved: one attribute appears in both forms, a value has
    /// another type than the model declares, or the struct has no field for an entry.
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
            is_stored: true,
            fault,
        };
        let change = self.change(stored);
        let change = change.map_err(|source| error(DocumentFault::Attribute(source)))?;
        let Some(change) = change else {
            return Ok(None);
        };
        // Reads must not depend on the progress of the move.
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
            // Both were written just now.
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

    /// The fields of the form that is left.
    fn leaving(&self, array: &AttributeArray) -> impl Iterator<Item = &'static str> + use<> {
        names(array, self.to == DocumentForm::Fields)
    }

    /// The fields of the new form.
    fn coming(&self, array: &AttributeArray) -> impl Iterator<Item = &'static str> + use<> {
        names(array, self.to == DocumentForm::Attributes)
    }

    /// A filter for documents with parts in the other form.
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
