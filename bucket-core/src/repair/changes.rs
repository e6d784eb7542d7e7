//! The fields of a document that a mend changes.

use std::collections::BTreeMap;

use bson::{Bson, Document, RawArrayBuf, RawBson, RawDocument, RawDocumentBuf};

use crate::codec::raw::{RawWriter, elements};

/// Fields at the top of a document, by their names: the value that each gets; `None` takes it out.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Changes {
    fields: BTreeMap<String, Option<RawBson>>,
}

impl Changes {
    pub(super) fn raw(name: &str, value: RawBson) -> Self {
        Self {
            fields: BTreeMap::from([(name.to_owned(), Some(value))]),
        }
    }

    /// `None` if the value cannot be stored.
    pub(super) fn one(name: &str, value: impl Into<Bson>) -> Option<Self> {
        Some(Self::raw(name, RawBson::try_from(value.into()).ok()?))
    }

    /// Sets or takes out a value at a path, among the other fields of the document at the top of the path.
    pub(super) fn at_path(
        &mut self,
        stored: &RawDocument,
        path: &str,
        value: Option<Bson>,
    ) -> Option<()> {
        let Some((top, rest)) = path.split_once('.') else {
            let value = value.map(RawBson::try_from).transpose().ok()?;
            self.fields.insert(path.to_owned(), value);
            return Some(());
        };
        let found = match self.fields.get(top) {
            Some(changed) => changed.clone(),
            None => stored.get(top).ok()?.map(RawBson::from),
        };
        if found.is_none() && value.is_none() {
            return Some(());
        }
        let found = found.and_then(|found| Bson::try_from(found).ok());
        let mut fields = match found {
            Some(Bson::Document(fields)) => fields,
            _ => Document::new(),
        };
        insert(&mut fields, rest, value);
        let fields = RawBson::try_from(Bson::Document(fields)).ok()?;
        self.fields.insert(top.to_owned(), Some(fields));
        Some(())
    }

    /// These, and then the other ones.
    pub(super) fn extend(&mut self, other: Self) {
        self.fields.extend(other.fields);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.keys().map(String::as_str)
    }

    /// The document with them; `None` if it cannot be read to its end.
    pub(super) fn apply(&self, stored: &RawDocument) -> Option<RawDocumentBuf> {
        let mut left: Vec<&str> = self.names().collect();
        let mut kept = Vec::new();
        for element in elements(stored) {
            let element = element.ok()?;
            // Of a repeated name, readers and the server take the first.
            let at = left.iter().position(|name| *name == element.name);
            kept.push((element, at.map(|at| left.swap_remove(at))));
        }
        left.sort_unstable();
        Some(RawWriter::build(|writer| {
            for (element, changed) in kept {
                match changed {
                    Some(name) => self.write_one(name, writer),
                    None => writer.raw(element.kind, element.name, element.bytes),
                }
            }
            for name in left {
                self.write_one(name, writer);
            }
        }))
    }

    /// Writes those with a value as elements, but for this one.
    pub(super) fn write_set(&self, but: Option<&str>, writer: &mut RawWriter) {
        for name in self.names().filter(|name| Some(*name) != but) {
            self.write_one(name, writer);
        }
    }

    /// The elements that an array gets at its end, if that is all that changes of it.
    pub(super) fn appended(&self, stored: &RawDocument, name: &str) -> Option<RawArrayBuf> {
        let Some(Some(RawBson::Array(all))) = self.fields.get(name) else {
            return None;
        };
        let before = stored.get_array(name).ok()?;
        // Without the length and the final NUL.
        let bytes = before.as_bytes();
        let bytes = bytes.get(4..bytes.len() - 1)?;
        if !all.as_bytes().get(4..)?.starts_with(bytes) {
            return None;
        }
        let mut appended = RawArrayBuf::new();
        for element in all.into_iter().skip(before.into_iter().count()) {
            appended.push(RawBson::from(element.ok()?));
        }
        Some(appended)
    }

    /// The names of those that are taken out.
    pub(super) fn unset(&self) -> impl Iterator<Item = &str> {
        let fields = self.fields.iter();
        fields.filter_map(|(name, value)| value.is_none().then_some(name.as_str()))
    }

    fn write_one(&self, name: &str, writer: &mut RawWriter) {
        let Some(Some(value)) = self.fields.get(name) else {
            return;
        };
        let mut one = RawDocumentBuf::new();
        // The names are the model's, without NUL.
        if let Ok(name) = bson::raw::CString::try_from(name) {
            one.append(name, value.clone());
        }
        let bytes = one.as_bytes();
        // Between the length and the final NUL.
        writer.elements(bytes.get(4..bytes.len() - 1).unwrap_or_default());
    }
}

/// Sets the value at a path, or removes it. What is in the way is no document and is replaced.
fn insert(fields: &mut Document, path: &str, value: Option<Bson>) {
    let Some((name, rest)) = path.split_once('.') else {
        match value {
            Some(value) => drop(fields.insert(path, value)),
            None => drop(fields.remove(path)),
        }
        return;
    };
    let mut inner = match fields.get(name) {
        Some(Bson::Document(inner)) => inner.clone(),
        _ => Document::new(),
    };
    insert(&mut inner, rest, value);
    fields.insert(name, inner);
}
