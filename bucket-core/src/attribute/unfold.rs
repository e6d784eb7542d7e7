//! From the arrays back to the many fields.

use bson::{RawBsonRef, RawDocument, RawDocumentBuf};

use super::{
    AttributeArray, AttributeError, AttributeFault, Rest, ValueKind,
    element::{Element, elements},
};
use crate::raw::RawWriter;

/// Makes the many fields of a stored document: each entry under the name of its field, what has none
/// in the field that keeps the rest, the document's other fields as they are. An array that is missing
/// has no entries.
///
/// # Errors
///
/// [`AttributeError`] if an array is none, and where the struct keeps no such entries: if an entry is
/// of another type, unknown, or there twice.
///
/// ```
/// use bson::{RawDocumentBuf, doc};
/// use bucket_core::attribute::{AttributeArray, AttributeFault, EntryNames, unfold};
///
/// const SPECS: AttributeArray = AttributeArray::new("specs", EntryNames::KVU, &[], None);
///
/// let stored = RawDocumentBuf::try_from(&doc! { "specs": [{ "k": "volume", "v": 500 }] })?;
/// let error = unfold(&[SPECS], &stored).unwrap_err();
/// assert_eq!(error.fault, AttributeFault::Unknown);
/// # Ok::<(), bson::error::Error>(())
/// ```
pub fn unfold(
    arrays: &[AttributeArray],
    stored: &RawDocument,
) -> Result<RawDocumentBuf, AttributeError> {
    unfold_with(arrays, stored, &[])
}

/// The same, with arrays that stand elsewhere in place of those that the document does not have.
pub(crate) fn unfold_with(
    arrays: &[AttributeArray],
    stored: &RawDocument,
    shared: &[Element<'_>],
) -> Result<RawDocumentBuf, AttributeError> {
    let mut result = Ok(());
    let document = RawWriter::build_of(stored.as_bytes().len(), |to| {
        let mut unfolded: Vec<Unfolded<'_>> = arrays.iter().map(Unfolded::new).collect();
        result = elements(stored).try_for_each(|element| {
            let element = element.map_err(|fault| AttributeError::of_all(arrays, fault))?;
            let mut of = unfolded.iter_mut();
            if let Some(array) = of.find(|array| array.array.name == element.name) {
                return array.read(element, to);
            }
            to.raw(element.kind, element.name, element.bytes);
            Ok(())
        });
        for array in &mut unfolded {
            let elsewhere = shared.iter().find(|other| other.name == array.array.name);
            if let (Ok(()), false, Some(elsewhere)) = (&result, array.has_come, elsewhere) {
                result = array.read(*elsewhere, to);
            }
            array.end(to);
        }
    });
    result.map(|()| document)
}

/// An array whose entries are read.
struct Unfolded<'a> {
    array: &'a AttributeArray,
    has_come: bool,
    seen: Vec<bool>,
    map: Vec<(&'a str, Element<'a>)>,
    others: Vec<Element<'a>>,
}

impl<'a> Unfolded<'a> {
    fn new(array: &'a AttributeArray) -> Self {
        Self {
            array,
            has_come: false,
            seen: vec![false; array.fields.len()],
            map: Vec::new(),
            others: Vec::new(),
        }
    }

    fn read(&mut self, found: Element<'a>, to: &mut RawWriter) -> Result<(), AttributeError> {
        let array = self.array.name;
        self.has_come = true;
        let fault = |entry: String, fault| AttributeError {
            array,
            entry,
            fault,
        };
        if !found.is_array() {
            let expected = "an array";
            return Err(fault(String::new(), AttributeFault::Type { expected }));
        }
        let entries = found.entries();
        let entries = entries.map_err(|malformed| fault(String::new(), malformed))?;
        for (index, entry) in entries.enumerate() {
            let taken = entry.and_then(|entry| match self.take(entry, to) {
                Err(_) if self.keeps_all() => {
                    self.others.push(entry);
                    Ok(())
                }
                taken => taken,
            });
            taken.map_err(|of_entry| fault(index.to_string(), of_entry))?;
        }
        Ok(())
    }

    fn keeps_all(&self) -> bool {
        matches!(self.array.rest, Some(Rest::Entries { .. }))
    }

    /// Writes the entry under the name of its field, or puts it into the map.
    fn take(&mut self, entry: Element<'a>, to: &mut RawWriter) -> Result<(), AttributeFault> {
        let (k, value, u) = self.parts(entry)?;
        let mut fields = self.array.fields.iter();
        let Some(at) = fields.position(|field| field.k == k && field.u == u) else {
            let Some(Rest::Map { kind, .. }) = self.array.rest.filter(|_| u.is_none()) else {
                return Err(AttributeFault::Unknown);
            };
            if !kind.admits(value.value) {
                let expected = kind.expected();
                return Err(AttributeFault::Type { expected });
            }
            if self.map.iter().any(|(known, _)| *known == k) {
                return Err(AttributeFault::Duplicate);
            }
            self.map.push((k, value));
            return Ok(());
        };
        let field = &self.array.fields[at];
        if self.seen[at] {
            return Err(AttributeFault::Duplicate);
        }
        let written = match (field.text, value.value) {
            (true, RawBsonRef::String(text)) => field.kind.write_text(field.name, text, to),
            (false, found) if field.kind.admits(found) => {
                write(field.kind, field.name, value, to);
                true
            }
            _ => false,
        };
        if !written {
            let expected = if field.text {
                "the text of its value"
            } else {
                field.kind.expected()
            };
            return Err(AttributeFault::Type { expected });
        }
        self.seen[at] = true;
        Ok(())
    }

    /// Key, value and unit of an entry. One with other fields is none: they would be lost.
    fn parts(
        &self,
        entry: Element<'a>,
    ) -> Result<(&'a str, Element<'a>, Option<&'a str>), AttributeFault> {
        let names = self.array.entry;
        let wrong = |expected| AttributeFault::Type { expected };
        let RawBsonRef::Document(entry) = entry.value else {
            return Err(wrong("a document"));
        };
        let (mut k, mut v, mut u) = (None, None, None);
        for part in elements(entry) {
            let part = part?;
            let slot = if part.name == names.k {
                &mut k
            } else if part.name == names.v {
                &mut v
            } else if Some(part.name) == names.u {
                &mut u
            } else {
                return Err(wrong("an entry of key, value and unit alone"));
            };
            if slot.replace(part).is_some() {
                return Err(AttributeFault::Malformed);
            }
        }
        let text = |part: Element<'a>, expected| match part.value {
            RawBsonRef::String(text) => Ok(text),
            _ => Err(wrong(expected)),
        };
        Ok((
            text(
                k.ok_or(wrong("an entry with a key"))?,
                "an entry whose key is text",
            )?,
            v.ok_or(wrong("an entry with a value"))?,
            u.map(|u| text(u, "an entry whose unit is text"))
                .transpose()?,
        ))
    }

    fn end(&self, to: &mut RawWriter) {
        match self.array.rest {
            None => {}
            Some(Rest::Map { name, kind }) => {
                let mark = to.begin_document(name);
                for (k, value) in &self.map {
                    write(kind, k, *value, to);
                }
                to.end(mark);
            }
            Some(Rest::Entries { name }) => {
                let mark = to.begin_array(name);
                for (index, entry) in self.others.iter().enumerate() {
                    to.raw_element(index, entry.kind, entry.bytes);
                }
                to.end(mark);
            }
        }
    }
}

/// Writes a value that the kind admits, numbers as those of the kind.
fn write(kind: ValueKind, name: &str, value: Element<'_>, to: &mut RawWriter) {
    match (kind, value.value) {
        (ValueKind::Int32 | ValueKind::Int64, RawBsonRef::Double(number)) => {
            // Admitted as whole.
            to.integer(name, crate::key::whole_number(number).unwrap_or_default());
        }
        (ValueKind::Double, RawBsonRef::Int32(number)) => to.double(name, number.into()),
        (ValueKind::Double, RawBsonRef::Int64(number)) => {
            // Admitted as exact.
            #[allow(clippy::cast_precision_loss)]
            to.double(name, number as f64);
        }
        _ => to.raw(value.kind, name, value.bytes),
    }
}
