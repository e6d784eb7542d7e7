//! Any serde value as BSON, straight into a buffer.
//!
//! The bytes are those that `bson::serialize_to_buffer` writes. What is simple in BSON (numbers,
//! text, documents, arrays) is written here, in code that the compiler can merge with the user's
//! `Serialize`; what has rules of its own there is given to `bson`: dates, object ids, uuids and the
//! like (`special`). Each value is asked for its form once, as there.
//!
//! Serde's own calls decide what is written, never the type of a field or the attributes of a
//! struct. So a `Serialize` by hand, `with` and every other attribute are right without being known.

use serde::{Serialize, Serializer};

use self::{
    elements::{Elements, Entries, Fields, StructElements},
    special::Special,
};

mod check;
mod elements;
mod entry_name;
mod names;
mod special;

pub(crate) use self::{
    check::{DOCUMENT_LEVELS, Findings, ITEM_LEVELS, Refusal, check_read},
    names::{Constants, KnownNames, Names},
    special::{is_special, no_document},
};
use crate::raw::kind;
pub(crate) use bson::error::Error;

/// Appends a value that is a document to `buffer`, of at most so many levels of documents and arrays.
///
/// # Errors
///
/// If it is none, or cannot be stored; the buffer is to be cut off then.
pub(crate) fn append_document<T: Serialize>(
    value: &T,
    levels: usize,
    buffer: &mut Vec<u8>,
) -> Result<Findings, Refusal> {
    let at = buffer.len();
    // In the place of an element's type.
    buffer.push(0);
    let mut findings = Findings::default();
    let mut known = KnownNames::default();
    let mut encoder = Encoder::over(buffer, at, levels, &mut findings, &mut known);
    let written = value.serialize(&mut encoder);
    findings.of(written)?;
    if buffer.get(at) != Some(&kind::DOCUMENT) {
        return Err(Refusal::Serialize(special::error_of(value)));
    }
    buffer.remove(at);
    Ok(findings)
}

/// Writes the value of one element after the other.
///
/// An element's type stands before its name, and serde tells the type after the name: its byte is
/// kept free by [`name`](Self::name) and set with the value.
#[derive(Debug)]
pub(crate) struct Encoder<'a> {
    bytes: &'a mut Vec<u8>,
    type_at: usize,
    /// How many levels of documents and arrays may still be begun.
    levels: usize,
    findings: &'a mut Findings,
    known: &'a mut KnownNames,
}

impl<'a> Encoder<'a> {
    /// An encoder that goes on in this buffer, with at most so many levels of documents and arrays.
    pub(crate) fn over(
        bytes: &'a mut Vec<u8>,
        type_at: usize,
        levels: usize,
        findings: &'a mut Findings,
        known: &'a mut KnownNames,
    ) -> Self {
        Self {
            bytes,
            type_at,
            levels,
            findings,
            known,
        }
    }

    /// Begins a document. Gives its start.
    ///
    /// # Errors
    ///
    /// If that is a level too many: the server stores no deeper ones, and refuses the whole command
    /// that has one.
    #[inline]
    pub(crate) fn begin(&mut self) -> Result<usize, Error> {
        let Some(levels) = self.levels.checked_sub(1) else {
            return Err(self.findings.refuse(Refusal::TooDeep));
        };
        self.levels = levels;
        Ok(self.length())
    }

    /// Begins the first document, which is a level less for others. Gives its start.
    #[inline]
    pub(crate) fn begin_first(&mut self) -> usize {
        self.levels = self.levels.saturating_sub(1);
        self.length()
    }

    /// Room for a length.
    #[inline]
    fn length(&mut self) -> usize {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        start
    }

    /// Ends the document that began at `start`.
    #[inline]
    pub(crate) fn end(&mut self, start: usize) {
        self.levels += 1;
        self.bytes.push(0);
        let length = length(self.bytes.len() - start);
        self.bytes[start..start + 4].copy_from_slice(&length);
    }

    /// Begins an element; its value must follow.
    ///
    /// # Errors
    ///
    /// If the name has a NUL, which would end it.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "the compiler decides at once what is asked of the names of fields, which are constants"
    )]
    pub(crate) fn name(&mut self, name: &str) -> Result<(), Error> {
        if name.as_bytes().contains(&0) {
            return Err(special::no_name(name));
        }
        if name.starts_with('$') {
            self.findings.has_operators = true;
        }
        self.type_at = self.bytes.len();
        self.bytes.reserve(name.len() + 16);
        self.bytes.push(0);
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        Ok(())
    }

    /// Notes that names are data which may be those of other fields.
    #[inline]
    pub(crate) fn has_flattened(&mut self) {
        self.findings.has_flattened = true;
    }

    /// Begins the element of an array.
    #[inline]
    fn index(&mut self, index: usize) {
        self.type_at = self.bytes.len();
        crate::raw::push_index(self.bytes, 0, index);
    }

    /// A date, in milliseconds since 1970.
    #[inline]
    pub(crate) fn date(&mut self, millis: i64) {
        self.value(kind::DATE, &millis.to_le_bytes());
    }

    #[inline]
    fn kind(&mut self, kind: u8) {
        self.bytes[self.type_at] = kind;
    }

    #[inline]
    fn value(&mut self, kind: u8, value: &[u8]) {
        self.kind(kind);
        self.bytes.extend_from_slice(value);
    }
}

/// A length as BSON has it. Longer documents are cut off there by `bson` too, and refused by their
/// size before anything is sent.
#[inline]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "as `bson` does"
)]
fn length(length: usize) -> [u8; 4] {
    (length as i32).to_le_bytes()
}

macro_rules! widen {
    ($($method:ident($ty:ty) as $wide:ident),+ $(,)?) => {$(
        #[inline]
        fn $method(self, value: $ty) -> Result<(), Error> {
            self.$wide(value.into())
        }
    )+};
}

impl<'e, 'a> Serializer for &'e mut Encoder<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Elements<'e, 'a>;
    type SerializeTuple = Elements<'e, 'a>;
    type SerializeTupleStruct = Elements<'e, 'a>;
    type SerializeTupleVariant = Elements<'e, 'a>;
    type SerializeMap = Entries<'e, 'a>;
    type SerializeStruct = StructElements<'e, 'a>;
    type SerializeStructVariant = Fields<'e, 'a>;

    fn is_human_readable(&self) -> bool {
        false
    }

    widen! {
        serialize_i8(i8) as serialize_i32, serialize_i16(i16) as serialize_i32,
        serialize_u8(u8) as serialize_i32, serialize_u16(u16) as serialize_i32,
        serialize_u32(u32) as serialize_i64, serialize_f32(f32) as serialize_f64,
    }

    #[inline]
    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.value(kind::BOOLEAN, &[u8::from(value)]);
        Ok(())
    }

    #[inline]
    fn serialize_i32(self, value: i32) -> Result<(), Error> {
        self.value(kind::INT32, &value.to_le_bytes());
        Ok(())
    }

    #[inline]
    fn serialize_i64(self, value: i64) -> Result<(), Error> {
        self.value(kind::INT64, &value.to_le_bytes());
        Ok(())
    }

    #[inline]
    fn serialize_u64(self, value: u64) -> Result<(), Error> {
        match i64::try_from(value) {
            Ok(value) => self.serialize_i64(value),
            // Refused there with an error of its own.
            Err(_) => self.special(&value),
        }
    }

    #[inline]
    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        self.value(kind::DOUBLE, &value.to_le_bytes());
        Ok(())
    }

    #[inline]
    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    #[inline]
    fn serialize_str(self, value: &str) -> Result<(), Error> {
        self.value(kind::STRING, &length(value.len() + 1));
        self.bytes.extend_from_slice(value.as_bytes());
        self.bytes.push(0);
        Ok(())
    }

    #[inline]
    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        self.value(kind::BINARY, &length(value.len()));
        // The generic subtype.
        self.bytes.push(0);
        self.bytes.extend_from_slice(value);
        Ok(())
    }

    #[inline]
    fn serialize_none(self) -> Result<(), Error> {
        self.kind(kind::NULL);
        Ok(())
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    #[inline]
    fn serialize_unit(self) -> Result<(), Error> {
        self.serialize_none()
    }

    #[inline]
    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.serialize_none()
    }

    #[inline]
    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        if name.starts_with('$') {
            return self.special(&special::Newtype(name, value));
        }
        value.serialize(self)
    }

    #[inline]
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.kind(kind::DOCUMENT);
        let start = self.begin()?;
        self.name(variant)?;
        value.serialize(&mut *self)?;
        self.end(start);
        Ok(())
    }

    #[inline]
    fn serialize_seq(self, _: Option<usize>) -> Result<Elements<'e, 'a>, Error> {
        Elements::begin(self, kind::ARRAY)
    }

    #[inline]
    fn serialize_tuple(self, _: usize) -> Result<Elements<'e, 'a>, Error> {
        Elements::begin(self, kind::ARRAY)
    }

    #[inline]
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Elements<'e, 'a>, Error> {
        Elements::begin(self, kind::ARRAY)
    }

    #[inline]
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Elements<'e, 'a>, Error> {
        self.kind(kind::DOCUMENT);
        let around = self.begin()?;
        self.name(variant)?;
        Elements::begin_within(self, Some(around), kind::ARRAY)
    }

    #[inline]
    fn serialize_map(self, len: Option<usize>) -> Result<Entries<'e, 'a>, Error> {
        // Serde's form of a struct with a flattened field, which may bring names that other fields are
        // read from.
        if len.is_none() {
            self.has_flattened();
        }
        Entries::begin(self)
    }

    #[inline]
    fn serialize_struct(
        self,
        name: &'static str,
        len: usize,
    ) -> Result<StructElements<'e, 'a>, Error> {
        Ok(if is_special(name) {
            StructElements::Special(Special::begin(self, name, len))
        } else {
            StructElements::Document(Fields::begin(self)?)
        })
    }

    #[inline]
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Fields<'e, 'a>, Error> {
        self.kind(kind::DOCUMENT);
        let around = self.begin()?;
        self.name(variant)?;
        Fields::begin_within(self, Some(around))
    }
}
