//! From the arrays back to the many fields.

use bson::{RawBsonRef, RawDocument, RawDocumentBuf};

use super::{AttributeArray, AttributeError, AttributeFault, Rest, ValueKind};
use crate::codec::raw::{Element, RawWriter, elements};

/// Makes the many fields of a stored document. Each entry gets the name of its field; entries
/// without a field go into the field that keeps the rest. The document's other fields stay as they
/// are. A missing array has no entries.
///
/// A document that still has its many fields is returned unchanged. A document with some of them
/// besides the array gives both. So a collection can be read while it moves from one form to the
/// other.
///
/// # Errors
///
/// [`AttributeError`] if an array field is not an array. If the struct does not keep such entries,
/// also if an entry has another type, is unknown or appears twice. An attribute in both a field and
/// an entry counts as appearing twice.
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

/// The same, with arrays from elsewhere for those that the document does not have.
pub(crate) fn unfold_with(
    arrays: &[AttributeArray],
    stored: &RawDocument,
    shared: &[SharedArray<'_>],
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
            for array in &mut unfolded {
                if array.takes_field(element, to)? {
                    return Ok(());
                }
            }
            to.raw(element.kind, element.name, element.bytes);
            Ok(())
        });
        for array in &mut unfolded {
            if result.is_err() {
                break;
            }
            result = match shared.iter().find(|it| it.name() == array.array.name) {
                Some(elsewhere) if !array.is_told() => elsewhere.write(to),
                _ => array.end(to),
            };
        }
    });
    result.map(|()| document)
}

/// An array that is stored elsewhere and shared by several documents.
#[derive(Debug)]
pub(crate) struct SharedArray<'a> {
    pub(crate) element: Element<'a>,
    /// Its many fields, as elements.
    fields: Result<Vec<u8>, AttributeError>,
}

impl<'a> SharedArray<'a> {
    pub(crate) fn new(array: &AttributeArray, element: Element<'a>) -> Self {
        let mut writer = RawWriter::default();
        let mut unfolded = Unfolded::new(array);
        let read = unfolded.read(element, &mut writer);
        let fields = read.and_then(|()| unfolded.end(&mut writer));
        Self {
            element,
            fields: fields.map(|()| writer.into_bytes()),
        }
    }

    fn name(&self) -> &'a str {
        self.element.name
    }

    fn write(&self, to: &mut RawWriter) -> Result<(), AttributeError> {
        let fields = self.fields.as_ref().map_err(Clone::clone)?;
        to.elements(fields);
        Ok(())
    }
}

/// An array while its entries are read.
struct Unfolded<'a> {
    array: &'a AttributeArray,
    /// Whether the document has the array.
    is_there: bool,
    /// The source of each field so far.
    told: Vec<Told>,
    map: Vec<(&'a str, Element<'a>)>,
    others: Vec<Element<'a>>,
    /// The field of the rest, if the document still has it.
    rest: Option<Element<'a>>,
}

/// The source of a field's value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    /// The field itself, as null: an entry may follow.
    Null,
    Field,
    Entry,
    /// An entry, and a field that is null and therefore ignored.
    EntryAndNull,
}

impl<'a> Unfolded<'a> {
    fn new(array: &'a AttributeArray) -> Self {
        Self {
            array,
            is_there: false,
            told: vec![Told::Nothing; array.fields.len()],
            map: Vec::new(),
            others: Vec::new(),
            rest: None,
        }
    }

    /// Whether the document contains any part of the array, in either form.
    fn is_told(&self) -> bool {
        let mut told = self.told.iter();
        self.is_there || self.rest.is_some() || told.any(|told| *told != Told::Nothing)
    }

    /// Keeps the element if it is one of the many fields, in a document that still has them.
    fn takes_field(
        &mut self,
        element: Element<'a>,
        to: &mut RawWriter,
    ) -> Result<bool, AttributeError> {
        let array = self.array;
        let twice = || AttributeError::of_field(array, element.name, AttributeFault::Duplicate);
        if let Some(at) = self.array.field(element.name) {
            let is_null = element.value == RawBsonRef::Null;
            self.told[at] = match (self.told[at], is_null) {
                (Told::Nothing, true) => Told::Null,
                (Told::Entry, true) => Told::EntryAndNull,
                (Told::Nothing, false) => Told::Field,
                _ => return Err(twice()),
            };
            if !is_null {
                to.raw(element.kind, element.name, element.bytes);
            }
            return Ok(true);
        }
        if self
            .array
            .rest
            .is_none_or(|rest| rest.name() != element.name)
        {
            return Ok(false);
        }
        if self.rest.replace(element).is_some() {
            return Err(twice());
        }
        Ok(true)
    }

    fn read(&mut self, found: Element<'a>, to: &mut RawWriter) -> Result<(), AttributeError> {
        let array = self.array.name;
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
        if std::mem::replace(&mut self.is_there, true) {
            return Err(AttributeError::duplicate(self.array, String::new()));
        }
        for (index, entry) in entries.enumerate() {
            let taken = entry.and_then(|entry| match self.take(entry, to) {
                // Besides the field, the entry is not a further value: the two contradict.
                Err(_) if self.keeps_all() && !self.is_given_by_field(entry) => {
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

    fn is_given_by_field(&self, entry: Element<'a>) -> bool {
        let Ok((k, _, u)) = self.parts(entry) else {
            return false;
        };
        let mut fields = self.array.fields.iter().zip(&self.told);
        fields.any(|(field, told)| field.k == k && field.u == u && *told == Told::Field)
    }

    /// Writes the entry under the name of its field, or adds it to the map.
    fn take(&mut self, entry: Element<'a>, to: &mut RawWriter) -> Result<(), AttributeFault> {
        let (k, value, u) = self.parts(entry)?;
        let mut fields = self.array.fields.iter();
        let Some(at) = fields.position(|field| field.k == k && field.u == u) else {
            let Some(Rest::Map { kind, .. }) = self.array.rest.filter(|_| u.is_none()) else {
                return Err(AttributeFault::Unknown);
            };
            if !kind.admits(value.value) && value.value != RawBsonRef::Null {
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
        let told = match self.told[at] {
            Told::Nothing => Told::Entry,
            Told::Null => Told::EntryAndNull,
            _ => return Err(AttributeFault::Duplicate),
        };
        let written = match (field.text, value.value) {
            (_, RawBsonRef::Null) if field.null => {
                to.raw(value.kind, field.name, value.bytes);
                true
            }
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
        self.told[at] = told;
        Ok(())
    }

    /// Key, value and unit of an entry. An entry with other fields is an error, because they would
    /// be lost.
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
                return Err(wrong("an entry of only key, value and unit"));
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

    fn end(&self, to: &mut RawWriter) -> Result<(), AttributeError> {
        for (field, told) in self.array.fields.iter().zip(&self.told) {
            if *told == Told::Null {
                to.null(field.name);
            }
        }
        let Some(rest) = self.array.rest else {
            return Ok(());
        };
        // If the array is missing, the field is the only source, whatever its type.
        if let Some(field) = self.rest
            && (!self.is_there || !field.is_empty())
        {
            if !self.map.is_empty() || !self.others.is_empty() {
                let twice = AttributeFault::Duplicate;
                return Err(AttributeError::of_field(self.array, rest.name(), twice));
            }
            to.raw(field.kind, field.name, field.bytes);
            return Ok(());
        }
        match rest {
            Rest::Map { name, kind } => {
                let mark = to.begin_document(name);
                for (k, value) in &self.map {
                    write(kind, k, *value, to);
                }
                to.end(mark);
            }
            Rest::Entries { name } => {
                let mark = to.begin_array(name);
                for (index, entry) in self.others.iter().enumerate() {
                    to.raw_element(index, entry.kind, entry.bytes);
                }
                to.end(mark);
            }
        }
        Ok(())
    }
}

/// Writes a value that the kind admits; numbers get the kind's type.
fn write(kind: ValueKind, name: &str, value: Element<'_>, to: &mut RawWriter) {
    match (kind, value.value) {
        (ValueKind::Int32 | ValueKind::Int64, RawBsonRef::Double(number)) => {
            // The kind only admits whole numbers here.
            to.integer(
                name,
                crate::model::whole::of_double(number).unwrap_or_default(),
            );
        }
        (ValueKind::Double, RawBsonRef::Int32(number)) => to.double(name, number.into()),
        (ValueKind::Double, RawBsonRef::Int64(number)) => {
            // The kind only admits exact numbers here.
            #[allow(clippy::cast_precision_loss)]
            to.double(name, number as f64);
        }
        _ => to.raw(value.kind, name, value.bytes),
    }
}
