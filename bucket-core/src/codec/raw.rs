//! The byte writer for every command: BSON straight into one buffer.
//!
//! Format: the BSON specification 1.1 (bsonspec.org). Element names come from specs and constants.
//! They contain no NUL byte, because the derive refuses such names.

mod element;
pub(crate) mod kind;
mod operand;
mod printed_id;

use bson::{RawDocument, RawDocumentBuf, oid::ObjectId, spec::BinarySubtype};

pub(crate) use self::{
    element::{Element, Elements, element_parts, elements},
    operand::Operand,
    printed_id::{WITHOUT_ID, printed_id},
};
use crate::model::{key::KeyValue, measure::Number};

/// The start of a document, so that its length can be set later.
#[derive(Debug, Clone, Copy)]
#[must_use]
pub(crate) struct Mark(usize);

/// Appends BSON elements to a buffer.
#[derive(Debug, Default, Clone)]
pub(crate) struct RawWriter {
    bytes: Vec<u8>,
}

impl RawWriter {
    /// A writer that continues in this buffer.
    pub(crate) fn over(bytes: Vec<u8>) -> Self {
        Self { bytes }
    }

    /// The number of bytes written so far.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Begins a document that is not an element: the command itself or a statement.
    #[inline]
    pub(crate) fn begin(&mut self) -> Mark {
        let mark = Mark(self.bytes.len());
        self.bytes.extend_from_slice(&[0; 4]);
        mark
    }

    /// Begins an embedded document.
    #[inline]
    pub(crate) fn begin_document(&mut self, name: &str) -> Mark {
        self.name(kind::DOCUMENT, name);
        self.begin()
    }

    /// Begins an array.
    #[inline]
    pub(crate) fn begin_array(&mut self, name: &str) -> Mark {
        self.name(kind::ARRAY, name);
        self.begin()
    }

    /// Begins a document that is the element `index` of an array.
    #[inline]
    pub(crate) fn begin_element(&mut self, index: usize) -> Mark {
        self.index(kind::DOCUMENT, index);
        self.begin()
    }

    /// Ends what `mark` began.
    #[inline]
    pub(crate) fn end(&mut self, mark: Mark) {
        self.bytes.push(0);
        let length = self.bytes.len() - mark.0;
        // Commands are limited far below 2 GiB, and the server refuses a longer one as malformed.
        let length = i32::try_from(length).unwrap_or(i32::MAX);
        self.bytes[mark.0..mark.0 + 4].copy_from_slice(&length.to_le_bytes());
    }

    #[inline]
    pub(crate) fn string(&mut self, name: &str, value: &str) {
        self.name(kind::STRING, name);
        self.text(value);
    }

    #[inline]
    pub(crate) fn int32(&mut self, name: &str, value: i32) {
        self.name(kind::INT32, name);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    #[inline]
    pub(crate) fn bool(&mut self, name: &str, value: bool) {
        self.name(kind::BOOLEAN, name);
        self.bytes.push(u8::from(value));
    }

    #[inline]
    pub(crate) fn int64(&mut self, name: &str, value: i64) {
        self.name(kind::INT64, name);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Binary data of the subtype.
    pub(crate) fn binary(&mut self, name: &str, subtype: BinarySubtype, value: &[u8]) {
        self.name(kind::BINARY, name);
        // A document has at most 16 MB.
        let length = i32::try_from(value.len()).unwrap_or(i32::MAX);
        self.bytes.extend_from_slice(&length.to_le_bytes());
        self.bytes.push(subtype.into());
        self.bytes.extend_from_slice(value);
    }

    pub(crate) fn null(&mut self, name: &str) {
        self.name(kind::NULL, name);
    }

    /// An integer as the server counts: 32 bits if they suffice.
    pub(crate) fn integer(&mut self, name: &str, value: i64) {
        match i32::try_from(value) {
            Ok(value) => self.int32(name, value),
            Err(_) => self.int64(name, value),
        }
    }

    /// A date, in milliseconds since 1970.
    #[inline]
    pub(crate) fn date(&mut self, name: &str, millis: i64) {
        self.name(kind::DATE, name);
        self.bytes.extend_from_slice(&millis.to_le_bytes());
    }

    /// A number. Integers are 64-bit, so that their sums stay exact.
    pub(crate) fn number(&mut self, name: &str, value: Number) {
        match value {
            Number::Int(value) => self.int64(name, value),
            Number::Float(value) => {
                self.name(kind::DOUBLE, name);
                self.bytes.extend_from_slice(&value.to_le_bytes());
            }
        }
    }

    pub(crate) fn double(&mut self, name: &str, value: f64) {
        self.raw(kind::DOUBLE, name, &value.to_le_bytes());
    }

    /// A value that is already BSON, of the type that the byte names.
    pub(crate) fn raw(&mut self, kind: u8, name: &str, value: &[u8]) {
        self.name(kind, name);
        self.bytes.extend_from_slice(value);
    }

    /// Like `raw`, as the element `index` of an array.
    pub(crate) fn raw_element(&mut self, index: usize, kind: u8, value: &[u8]) {
        self.index(kind, index);
        self.bytes.extend_from_slice(value);
    }

    /// A finished document as an element.
    pub(crate) fn document(&mut self, name: &str, value: &RawDocument) {
        self.name(kind::DOCUMENT, name);
        self.bytes.extend_from_slice(value.as_bytes());
    }

    /// A finished document, passed as its bytes, as an element.
    #[inline]
    pub(crate) fn document_bytes(&mut self, name: &str, document: &[u8]) {
        self.name(kind::DOCUMENT, name);
        self.bytes.extend_from_slice(document);
    }

    /// A finished document, passed as its bytes, as the element `index` of an array.
    #[inline]
    pub(crate) fn element(&mut self, index: usize, document: &[u8]) {
        self.index(kind::DOCUMENT, index);
        self.bytes.extend_from_slice(document);
    }

    /// Finished BSON elements, each with type, name and value.
    #[inline]
    pub(crate) fn elements(&mut self, elements: &[u8]) {
        self.bytes.extend_from_slice(elements);
    }

    /// The value of an element that is already BSON, as the element `index` of an array.
    pub(crate) fn value_of(&mut self, index: usize, element: &[u8]) {
        if let [kind, rest @ ..] = element
            && let Some(end) = rest.iter().position(|byte| *byte == 0)
        {
            self.index(*kind, index);
            self.bytes.extend_from_slice(&rest[end + 1..]);
        }
    }

    /// The value of an element that is already BSON, under another name.
    pub(crate) fn value_as(&mut self, name: &str, element: &[u8]) {
        if let [kind, rest @ ..] = element
            && let Some(end) = rest.iter().position(|byte| *byte == 0)
        {
            self.name(*kind, name);
            self.bytes.extend_from_slice(&rest[end + 1..]);
        }
    }

    /// A key part under its field's name.
    pub(crate) fn key(&mut self, name: &str, value: KeyValue<'_>) {
        match value {
            KeyValue::Bool(value) => self.bool(name, value),
            KeyValue::Int32(value) => self.int32(name, value),
            KeyValue::Int64(value) => self.int64(name, value),
            KeyValue::String(value) | KeyValue::Text(value) => self.string(name, value),
            KeyValue::ObjectId(value) => self.object_id(name, value),
            KeyValue::Uuid(value) => {
                self.name(kind::BINARY, name);
                self.bytes.extend_from_slice(&16_i32.to_le_bytes());
                self.bytes.push(0x04);
                self.bytes.extend_from_slice(&value);
            }
        }
    }

    pub(crate) fn object_id(&mut self, name: &str, value: ObjectId) {
        self.name(kind::OBJECT_ID, name);
        self.bytes.extend_from_slice(&value.bytes());
    }

    /// The bytes of a finished top-level document.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// A document built by `fill`.
    pub(crate) fn build(fill: impl FnOnce(&mut Self)) -> RawDocumentBuf {
        Self::build_of(0, fill)
    }

    /// A document built by `fill`, of about this many bytes.
    pub(crate) fn build_of(bytes: usize, fill: impl FnOnce(&mut Self)) -> RawDocumentBuf {
        let mut writer = Self::over(Vec::with_capacity(bytes));
        let mark = writer.begin();
        fill(&mut writer);
        writer.end(mark);
        // The conversion only checks length and NUL, which the writer sets for every document. The
        // empty document covers the impossible case.
        RawDocumentBuf::from_bytes(writer.bytes).unwrap_or_default()
    }

    #[inline]
    fn name(&mut self, kind: u8, name: &str) {
        self.bytes.push(kind);
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
    }

    #[inline]
    fn index(&mut self, kind: u8, index: usize) {
        push_index(&mut self.bytes, kind, index);
    }

    #[inline]
    fn text(&mut self, value: &str) {
        let length = i32::try_from(value.len() + 1).unwrap_or(i32::MAX);
        self.bytes.extend_from_slice(&length.to_le_bytes());
        self.bytes.extend_from_slice(value.as_bytes());
        self.bytes.push(0);
    }
}

/// The type of an element and its index in an array.
#[inline]
pub(crate) fn push_index(bytes: &mut Vec<u8>, kind: u8, index: usize) {
    bytes.push(kind);
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    let mut rest = index;
    loop {
        at -= 1;
        // A decimal digit fits a byte.
        #[allow(clippy::cast_possible_truncation)]
        let digit = (rest % 10) as u8;
        digits[at] = b'0' + digit;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    bytes.extend_from_slice(&digits[at..]);
    bytes.push(0);
}
