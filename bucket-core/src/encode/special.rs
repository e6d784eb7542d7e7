//! What `bson` has rules of its own for: it writes these values.

use bson::Bson;
use serde::{
    Serialize, Serializer,
    ser::{Error as _, SerializeMap, SerializeStruct},
};

use super::{Encoder, Error, check};
use crate::attribute::element_parts;

/// A document of one element with an empty name: length, type, and the NUL of the name.
const BEFORE_VALUE: usize = 6;

impl Encoder<'_> {
    /// The value of an element as `bson` writes it.
    pub(super) fn special<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let start = self.bytes.len();
        bson::serialize_to_buffer(&Entry("", value), self.bytes)?;
        self.bytes[self.type_at] = self.bytes[start + 4];
        self.bytes.drain(start..start + BEFORE_VALUE);
        // The document's own NUL.
        self.bytes.pop();
        let element = self.bytes.get(self.type_at..).unwrap_or_default();
        let whole = element_parts(element).filter(|(_, behind)| behind.is_empty());
        let looked = match whole {
            Some((value, _)) => self
                .findings
                .look_into(value.kind, value.bytes, self.levels),
            None => Err(check::malformed()),
        };
        looked.map_err(|refusal| self.findings.refuse(refusal))
    }
}

/// The error of a name that is no text, or text with a NUL.
#[cold]
pub(super) fn no_name<K: Serialize + ?Sized>(name: &K) -> Error {
    error_of(&Entry(name, &()))
}

/// The error of a record that serialises as a special value.
#[cold]
pub(crate) fn no_document(name: &'static str) -> Error {
    error_of(&Fields::<()>(name, &[], None))
}

/// Why `bson` does not take it for a document.
#[cold]
pub(super) fn error_of<T: Serialize>(value: &T) -> Error {
    bson::serialize_to_vec(value)
        .err()
        .unwrap_or_else(|| Error::custom("this cannot be encoded"))
}

/// Whether `bson` writes a struct of this name as a value of its own type.
#[inline]
pub(crate) fn is_special(name: &str) -> bool {
    const NAMES: [&str; 13] = [
        "$oid",
        "$date",
        "$binary",
        "$timestamp",
        "$minKey",
        "$maxKey",
        "$code",
        "$codeWithScope",
        "$symbol",
        "$undefined",
        "$regularExpression",
        "$dbPointer",
        "$numberDecimal",
    ];
    name.starts_with('$') && NAMES.contains(&name)
}

/// A struct that stands for a value of its own type. All but one have a single field.
#[derive(Debug)]
pub(crate) struct Special<'e, 'a> {
    encoder: &'e mut Encoder<'a>,
    name: &'static str,
    /// The fields that are still to come.
    left: usize,
    /// The fields before the last one.
    held: Vec<(&'static str, Bson)>,
    written: bool,
}

impl<'e, 'a> Special<'e, 'a> {
    #[cold]
    pub(super) fn begin(encoder: &'e mut Encoder<'a>, name: &'static str, len: usize) -> Self {
        Self {
            encoder,
            name,
            left: len,
            held: Vec::new(),
            written: false,
        }
    }

    pub(super) fn field<T: Serialize + ?Sized>(
        &mut self,
        field: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        if self.written {
            return Err(Error::custom(format_args!(
                "expected to end serialization of type, got extra key \"{field}\""
            )));
        }
        // Where it cannot be held, `bson` says what is wrong, the name or the value.
        if self.left > 1
            && let Ok(value) = bson::serialize_to_bson(value)
        {
            self.left -= 1;
            self.held.push((field, value));
            return Ok(());
        }
        self.written = true;
        let last = Some((field, value));
        self.encoder.special(&Fields(self.name, &self.held, last))
    }

    pub(super) fn finish(self) -> Result<(), Error> {
        if self.written {
            return Ok(());
        }
        let fields = Fields::<()>(self.name, &self.held, None);
        self.encoder.special(&fields)
    }
}

/// A document of one element.
struct Entry<'v, K: ?Sized, T: ?Sized>(&'v K, &'v T);

impl<K: Serialize + ?Sized, T: Serialize + ?Sized> Serialize for Entry<'_, K, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(1))?;
        map.serialize_entry(self.0, self.1)?;
        map.end()
    }
}

/// A newtype of this name.
pub(super) struct Newtype<'v, T: ?Sized>(pub(super) &'static str, pub(super) &'v T);

impl<T: Serialize + ?Sized> Serialize for Newtype<'_, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_newtype_struct(self.0, self.1)
    }
}

/// A struct of this name and these fields.
struct Fields<'v, T: ?Sized>(
    &'static str,
    &'v [(&'static str, Bson)],
    Option<(&'static str, &'v T)>,
);

impl<T: Serialize + ?Sized> Serialize for Fields<'_, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self(name, held, last) = self;
        let len = held.len() + usize::from(last.is_some());
        let mut fields = to.serialize_struct(name, len)?;
        for (name, value) in *held {
            fields.serialize_field(name, value)?;
        }
        if let Some((name, value)) = last {
            fields.serialize_field(name, value)?;
        }
        fields.end()
    }
}
