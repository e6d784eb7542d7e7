//! From the many fields to the arrays.

use bson::{RawBsonRef, RawDocument, RawDocumentBuf};

use super::{AttributeArray, AttributeError, AttributeFault, AttributeField, Rest, ValueKind};
use crate::codec::raw::{Element, RawWriter, elements};

/// Makes the stored form of a document of many fields. All other fields stay as they are; the
/// arrays of attributes follow them. Fields that are null or missing have no entry.
///
/// # Errors
///
/// [`AttributeError`] if a field has another type than the model declares, or if it appears twice
/// because a flattened map repeats it.
///
/// ```
/// use bson::{Document, RawDocumentBuf, doc};
/// use bucket_core::attribute::{AttributeArray, AttributeField, EntryNames, ValueKind, fold};
///
/// const VOLUME: AttributeField = AttributeField {
///     name: "volume_ml",
///     k: "volume",
///     u: Some("ml"),
///     kind: ValueKind::Int32,
///     text: false,
///     null: false,
/// };
/// const SPECS: AttributeArray = AttributeArray::new("specs", EntryNames::KVU, &[VOLUME], None);
///
/// let many = RawDocumentBuf::try_from(&doc! { "_id": 1, "volume_ml": 500 })?;
/// let stored = Document::try_from(fold(&[SPECS], &many)?)?;
/// assert_eq!(stored, doc! { "_id": 1, "specs": [{ "k": "volume", "v": 500, "u": "ml" }] });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fold(
    arrays: &[AttributeArray],
    many: &RawDocument,
) -> Result<RawDocumentBuf, AttributeError> {
    fold_with(arrays, many, false)
}

/// The same for an item of a bucket, with the entries of a map in the order of their names. A `HashMap` has
/// another order each time, and a record that is sent again is compared with the stored one.
pub(crate) fn fold_item(
    arrays: &[AttributeArray],
    many: &RawDocument,
) -> Result<RawDocumentBuf, AttributeError> {
    fold_with(arrays, many, true)
}

fn fold_with(
    arrays: &[AttributeArray],
    many: &RawDocument,
    sorts_maps: bool,
) -> Result<RawDocumentBuf, AttributeError> {
    let mut folded: Vec<Folded<'_>> = arrays.iter().map(Folded::new).collect();
    let mut result = Ok(());
    // Keys and units take more space than field names.
    let document = RawWriter::build_of(3 * many.as_bytes().len(), |to| {
        result = elements(many).try_for_each(|element| {
            let element = element.map_err(|fault| AttributeError::of_all(arrays, fault))?;
            for array in &mut folded {
                if array.takes(element)? {
                    return Ok(());
                }
            }
            to.raw(element.kind, element.name, element.bytes);
            Ok(())
        });
        for array in &folded {
            if result.is_ok() {
                result = array.write(to, sorts_maps);
            }
        }
    });
    result.map(|()| document)
}

/// An array and the fields found for it.
struct Folded<'a> {
    array: &'a AttributeArray,
    values: Vec<Option<Element<'a>>>,
    rest: Option<Element<'a>>,
}

impl<'a> Folded<'a> {
    fn new(array: &'a AttributeArray) -> Self {
        Self {
            array,
            values: vec![None; array.fields.len()],
            rest: None,
        }
    }

    /// Keeps the element if it belongs to the array. Another element with the name of an entry or
    /// of the array must not disappear silently.
    fn takes(&mut self, element: Element<'a>) -> Result<bool, AttributeError> {
        let is_rest = |rest: Rest| rest.name() == element.name;
        let slot = if let Some(at) = self.array.field(element.name) {
            &mut self.values[at]
        } else if self.array.rest.is_some_and(is_rest) {
            &mut self.rest
        } else if element.name == self.array.name {
            return Err(AttributeError::duplicate(self.array, String::new()));
        } else {
            return Ok(false);
        };
        match slot.replace(element) {
            None => Ok(true),
            Some(_) => Err(AttributeError::duplicate(
                self.array,
                format!("`{}`", element.name),
            )),
        }
    }

    fn write(&self, to: &mut RawWriter, sorts_maps: bool) -> Result<(), AttributeError> {
        let mark = to.begin_array(self.array.name);
        let mut entries = Entries {
            array: self.array,
            number: 0,
            sorts_maps,
            to,
        };
        let fields = self.array.fields.iter().zip(&self.values);
        for (field, value) in fields {
            if let Some(value) = value {
                entries.push(field, *value)?;
            }
        }
        if let (Some(rest), Some(found)) = (self.array.rest, self.rest) {
            entries.rest(rest, found)?;
        }
        to.end(mark);
        Ok(())
    }
}

/// The entries of an array while they are written.
struct Entries<'w, 'a> {
    array: &'a AttributeArray,
    number: usize,
    sorts_maps: bool,
    to: &'w mut RawWriter,
}

impl Entries<'_, '_> {
    fn fault(&self, entry: &str, fault: AttributeFault) -> AttributeError {
        AttributeError {
            array: self.array.name,
            entry: format!("`{entry}`"),
            fault,
        }
    }

    fn push(&mut self, field: &AttributeField, value: Element<'_>) -> Result<(), AttributeError> {
        if field.null && value.value == RawBsonRef::Null {
            self.null(field.k, field.u, value);
            return Ok(());
        }
        let (text, kind) = (field.text, field.kind);
        self.entry((field.name, field.k, field.u), kind, text, value)
    }

    fn entry(
        &mut self,
        (name, k, u): (&str, &str, Option<&str>),
        kind: ValueKind,
        text: bool,
        value: Element<'_>,
    ) -> Result<(), AttributeError> {
        if value.value == RawBsonRef::Null {
            return Ok(());
        }
        let expected = kind.expected();
        let wrong = || self.fault(name, AttributeFault::Type { expected });
        if !kind.admits(value.value) {
            return Err(wrong());
        }
        let text = if text {
            Some(kind.text(value.value).ok_or_else(wrong)?)
        } else {
            None
        };
        let names = self.array.entry;
        let mark = self.to.begin_element(self.number);
        self.to.string(names.k, k);
        match text {
            Some(text) => self.to.string(names.v, &text),
            None => self.to.raw(value.kind, names.v, value.bytes),
        }
        if let (Some(name), Some(unit)) = (names.u, u) {
            self.to.string(name, unit);
        }
        self.to.end(mark);
        self.number += 1;
        Ok(())
    }

    fn null(&mut self, k: &str, u: Option<&str>, value: Element<'_>) {
        let names = self.array.entry;
        let mark = self.to.begin_element(self.number);
        self.to.string(names.k, k);
        self.to.raw(value.kind, names.v, value.bytes);
        if let (Some(name), Some(unit)) = (names.u, u) {
            self.to.string(name, unit);
        }
        self.to.end(mark);
        self.number += 1;
    }

    fn rest(&mut self, rest: Rest, found: Element<'_>) -> Result<(), AttributeError> {
        match (rest, found.value) {
            (_, RawBsonRef::Null) => Ok(()),
            (Rest::Map { kind, .. }, RawBsonRef::Document(map)) => {
                let values: Result<Vec<_>, _> = elements(map).collect();
                let mut values = values.map_err(|fault| self.fault(rest.name(), fault))?;
                if self.sorts_maps {
                    values.sort_by_key(|value| value.name);
                }
                for value in values {
                    if self.is_named(value.name, None) {
                        return Err(self.fault(value.name, AttributeFault::Duplicate));
                    }
                    if value.value == RawBsonRef::Null {
                        // A key without a value still has an entry.
                        self.null(value.name, None, value);
                        continue;
                    }
                    self.entry((value.name, value.name, None), kind, false, value)?;
                }
                Ok(())
            }
            (Rest::Entries { name }, _) if found.is_array() => {
                for entry in found.entries().map_err(|fault| self.fault(name, fault))? {
                    let entry = entry.map_err(|fault| self.fault(name, fault))?;
                    self.to.raw_element(self.number, entry.kind, entry.bytes);
                    self.number += 1;
                }
                Ok(())
            }
            (Rest::Map { .. }, _) => {
                let expected = "a map";
                Err(self.fault(rest.name(), AttributeFault::Type { expected }))
            }
            (Rest::Entries { .. }, _) => {
                let expected = "a list of entries";
                Err(self.fault(rest.name(), AttributeFault::Type { expected }))
            }
        }
    }

    /// Whether the struct has a field for it. A map entry would be read back into that field.
    fn is_named(&self, k: &str, u: Option<&str>) -> bool {
        let mut fields = self.array.fields.iter();
        fields.any(|field| field.k == k && field.u == u)
    }
}
