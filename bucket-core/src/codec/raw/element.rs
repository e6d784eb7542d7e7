//! The elements of a document, read from its bytes.
//!
//! Format: the BSON specification 1.1 (bsonspec.org).

use bson::{DateTime, Decimal128, RawBsonRef, RawDocument, oid::ObjectId};

use super::kind as byte;
use crate::error::AttributeFault;

/// An element: its name, and its value in two forms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Element<'a> {
    pub(crate) name: &'a str,
    /// The byte of its type.
    pub(crate) kind: u8,
    /// The bytes of its value.
    pub(crate) bytes: &'a [u8],
    /// The value, if it is a document or has a type that attributes can have; undefined otherwise.
    pub(crate) value: RawBsonRef<'a>,
}

impl<'a> Element<'a> {
    pub(crate) fn is_array(self) -> bool {
        self.kind == byte::ARRAY
    }

    /// Whether it is empty: null, or without elements.
    pub(crate) fn is_empty(self) -> bool {
        let has_elements = matches!(self.kind, byte::DOCUMENT | byte::ARRAY);
        // A length and a NUL.
        self.kind == byte::NULL || (has_elements && self.bytes.len() <= 5)
    }

    /// The entries of an array, whose bytes are those of a document.
    pub(crate) fn entries(self) -> Result<Elements<'a>, AttributeFault> {
        let document = RawDocument::from_bytes(self.bytes);
        document
            .map(elements)
            .map_err(|_| AttributeFault::Malformed)
    }
}

/// The elements of a document.
pub(crate) fn elements(document: &RawDocument) -> Elements<'_> {
    // Between its length and its final NUL; a document has both.
    let all = document.as_bytes();
    Elements {
        rest: all.get(4..all.len() - 1).unwrap_or_default(),
    }
}

/// Iterates over the elements of a document. Iteration ends after a malformed one.
#[derive(Debug)]
pub(crate) struct Elements<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Element<'a>, AttributeFault>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let Some((element, rest)) = split(self.rest) else {
            self.rest = &[];
            return Some(Err(AttributeFault::Malformed));
        };
        self.rest = rest;
        Some(Ok(element))
    }
}

/// The first element and the bytes after it.
#[inline]
fn split(bytes: &[u8]) -> Option<(Element<'_>, &[u8])> {
    let (Parts { name, kind, bytes }, rest) = element_parts(bytes)?;
    let element = Element {
        name: std::str::from_utf8(name).ok()?,
        kind,
        bytes,
        value: value(kind, bytes)?,
    };
    Some((element, rest))
}

/// An element whose name and value were not checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) kind: u8,
    pub(crate) bytes: &'a [u8],
}

/// The first element, unchecked, and the bytes after it.
#[inline]
pub(crate) fn element_parts(bytes: &[u8]) -> Option<(Parts<'_>, &[u8])> {
    let (kind, rest) = bytes.split_first()?;
    let (name, rest) = until_nul(rest)?;
    let (bytes, rest) = rest.split_at_checked(length(*kind, rest)?)?;
    let kind = *kind;
    Some((Parts { name, kind, bytes }, rest))
}

fn until_nul(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    Some((bytes.get(..end)?, bytes.get(end + 1..)?))
}

/// The length of the value at the start of these bytes.
#[inline]
fn length(kind: u8, bytes: &[u8]) -> Option<usize> {
    let prefix = || usize::try_from(i32::from_le_bytes(*bytes.first_chunk()?)).ok();
    Some(match kind {
        byte::DOUBLE | byte::DATE | byte::INT64 | byte::TIMESTAMP => 8,
        byte::INT32 => 4,
        byte::BOOLEAN => 1,
        byte::NULL | byte::UNDEFINED | byte::MIN_KEY | byte::MAX_KEY => 0,
        byte::OBJECT_ID => 12,
        byte::DECIMAL => 16,
        byte::STRING | byte::CODE | byte::SYMBOL => prefix()?.checked_add(4)?,
        byte::DOCUMENT | byte::ARRAY | byte::CODE_WITH_SCOPE => prefix()?,
        byte::BINARY => prefix()?.checked_add(5)?,
        byte::DB_POINTER => prefix()?.checked_add(16)?,
        byte::REGEX => {
            let (pattern, rest) = until_nul(bytes)?;
            pattern.len() + until_nul(rest)?.0.len() + 2
        }
        _ => return None,
    })
}

/// The value of these bytes, which have exactly the length of the type.
#[inline]
fn value(kind: u8, bytes: &[u8]) -> Option<RawBsonRef<'_>> {
    Some(match kind {
        byte::DOUBLE => RawBsonRef::Double(f64::from_le_bytes(*bytes.first_chunk()?)),
        byte::STRING => {
            let (end, text) = bytes.get(4..)?.split_last()?;
            RawBsonRef::String(std::str::from_utf8(text).ok().filter(|_| *end == 0)?)
        }
        byte::DOCUMENT => RawBsonRef::Document(RawDocument::from_bytes(bytes).ok()?),
        byte::BOOLEAN => match bytes {
            [0] => RawBsonRef::Boolean(false),
            [1] => RawBsonRef::Boolean(true),
            _ => return None,
        },
        byte::DATE => {
            let millis = i64::from_le_bytes(*bytes.first_chunk()?);
            RawBsonRef::DateTime(DateTime::from_millis(millis))
        }
        byte::NULL => RawBsonRef::Null,
        byte::OBJECT_ID => RawBsonRef::ObjectId(ObjectId::from_bytes(*bytes.first_chunk()?)),
        byte::INT32 => RawBsonRef::Int32(i32::from_le_bytes(*bytes.first_chunk()?)),
        byte::INT64 => RawBsonRef::Int64(i64::from_le_bytes(*bytes.first_chunk()?)),
        byte::DECIMAL => {
            let bytes = *bytes.first_chunk()?;
            RawBsonRef::Decimal128(Decimal128::from_bytes(bytes))
        }
        _ => RawBsonRef::Undefined,
    })
}

#[cfg(test)]
mod tests {
    use bson::{
        Bson, Document, RawDocumentBuf, Timestamp, doc, oid::ObjectId, spec::BinarySubtype,
    };

    use super::elements;

    fn of_every_type() -> Document {
        doc! {
            "double": 0.5, "string": "a\u{1F600}", "document": { "a": [1] }, "array": [1, "b"],
            "binary": bson::Binary { subtype: BinarySubtype::Generic, bytes: vec![0, 1] },
            "old binary": bson::Binary { subtype: BinarySubtype::BinaryOld, bytes: vec![0, 1] },
            "undefined": Bson::Undefined, "id": ObjectId::new(), "bool": true,
            "date": bson::DateTime::MIN, "null": Bson::Null,
            "regex": bson::Regex { pattern: "a.".try_into().unwrap(), options: "i".try_into().unwrap() },
            "code": Bson::JavaScriptCode("x".into()),
            "scope": bson::JavaScriptCodeWithScope { code: "x".into(), scope: doc! { "a": 1 } },
            "symbol": Bson::Symbol("s".into()), "int": -1, "timestamp": Timestamp { time: 1, increment: 2 },
            "long": i64::MIN, "decimal": "1.50".parse::<bson::Decimal128>().unwrap(),
            "min": Bson::MinKey, "max": Bson::MaxKey, "": 1, "a.$b": 2,
        }
    }

    #[test]
    fn elements_of_every_type_are_those_of_bson() {
        let document = RawDocumentBuf::try_from(&of_every_type()).unwrap();
        let theirs: Vec<_> = document.iter_elements().map(Result::unwrap).collect();
        let ours: Vec<_> = elements(&document).map(Result::unwrap).collect();
        assert_eq!(ours.len(), theirs.len());
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_eq!(ours.name, theirs.key().as_str());
            assert_eq!(ours.kind, theirs.element_type() as u8);
            assert_eq!(ours.bytes.len(), theirs.size());
            if ours.value != bson::RawBsonRef::Undefined {
                assert_eq!(ours.value, theirs.value().unwrap());
            }
        }
    }

    /// Each byte is damaged in each way. The accepted elements are those that `bson` accepts, except
    /// one: `bson` lets the last element take the NUL that ends the document.
    #[test]
    fn damaged_bytes_end_in_an_error() {
        let whole = RawDocumentBuf::try_from(&of_every_type()).unwrap();
        let whole = whole.into_bytes();
        for (at, byte) in (0..whole.len()).flat_map(|at| (0..=u8::MAX).map(move |byte| (at, byte)))
        {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            let Ok(document) = bson::RawDocument::from_bytes(&bytes) else {
                continue;
            };
            let ours = elements(document).take_while(Result::is_ok).count();
            let mut end = 4;
            let theirs = document.iter_elements().map_while(Result::ok);
            let theirs = theirs.take_while(|it| {
                // Its type, its name and the NUL of that.
                end += 1 + it.key().as_str().len() + 1 + it.size();
                end < bytes.len() && it.value().is_ok()
            });
            assert!(ours >= theirs.count(), "byte {at} is {byte}");
        }
    }
}
