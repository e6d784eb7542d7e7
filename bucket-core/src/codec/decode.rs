//! Decodes the bytes of an item as `bson` does, in a fraction of the time.
//!
//! This code reads numbers, text, booleans, null, documents, arrays, and the date of a record's
//! time. Other values have special rules in `bson`: if an item contains one, `bson` reads the whole
//! item. So the result always equals that of `bson`; `decode/tests.rs` and `decode/serde_forms.rs`
//! compare the two.
//!
//! Format: the BSON specification 1.1 (bsonspec.org).

use std::cell::Cell;

use bson::error::Error;
use serde::{
    Deserializer,
    de::{
        DeserializeOwned, DeserializeSeed, Error as _, IntoDeserializer, MapAccess, SeqAccess,
        Visitor, value::BorrowedStrDeserializer,
    },
    forward_to_deserialize_any,
};

use super::raw::kind::{
    ARRAY, BOOLEAN, DATE as DATE_TIME, DOCUMENT, DOUBLE, INT32, INT64, NULL, STRING,
};

/// The newtype name that requests a date in milliseconds.
pub(crate) const DATE: &str = "$bucket_date";

/// Reads a document.
pub(crate) fn decode<T: DeserializeOwned>(document: &[u8]) -> Result<T, Error> {
    let foreign = Cell::new(false);
    let value = Value {
        kind: DOCUMENT,
        bytes: document,
        foreign: &foreign,
    };
    let decoded = T::deserialize(value);
    if foreign.get() {
        // Even after a success: an implementation may have turned an error into a value.
        return bson::deserialize_from_slice(document);
    }
    decoded
}

/// A value, with exactly the bytes of its type.
#[derive(Clone, Copy)]
struct Value<'de, 'a> {
    kind: u8,
    bytes: &'de [u8],
    /// Whether a value was found that `bson` must read.
    foreign: &'a Cell<bool>,
}

#[cold]
fn malformed(what: &'static str) -> Error {
    Error::custom(what)
}

fn chunk<const N: usize>(bytes: &[u8]) -> Result<[u8; N], Error> {
    let chunk = bytes.first_chunk().copied();
    chunk.ok_or_else(|| malformed("a value ends too early"))
}

/// The text of a string: a length, the text, a NUL.
fn text(bytes: &[u8]) -> Result<&str, Error> {
    let text = bytes.get(4..bytes.len().saturating_sub(1));
    let text = text.ok_or_else(|| malformed("a text ends too early"))?;
    std::str::from_utf8(text).map_err(Error::custom)
}

impl Value<'_, '_> {
    #[cold]
    fn leave<T>(self) -> Result<T, Error> {
        self.foreign.set(true);
        Err(Error::custom("this decoder does not read the type"))
    }
}

impl<'de> Deserializer<'de> for Value<'de, '_> {
    type Error = Error;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.kind {
            DOUBLE => visitor.visit_f64(f64::from_le_bytes(chunk(self.bytes)?)),
            INT32 => visitor.visit_i32(i32::from_le_bytes(chunk(self.bytes)?)),
            INT64 => visitor.visit_i64(i64::from_le_bytes(chunk(self.bytes)?)),
            STRING => visitor.visit_borrowed_str(text(self.bytes)?),
            BOOLEAN => visitor.visit_bool(match self.bytes {
                [0] => false,
                [1] => true,
                _ => return Err(malformed("a boolean is neither true nor false")),
            }),
            NULL => visitor.visit_unit(),
            DOCUMENT => visitor.visit_map(Elements::of(self)?),
            ARRAY => visitor.visit_seq(Elements::of(self)?),
            _ => self.leave(),
        }
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.kind {
            NULL => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.kind {
            STRING => visitor.visit_enum(text(self.bytes)?.into_deserializer()),
            _ => self.leave(),
        }
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        if name == DATE && self.kind == DATE_TIME {
            return visitor.visit_i64(i64::from_le_bytes(chunk(self.bytes)?));
        }
        // `bson` uses such names for requests to itself.
        if name.starts_with('$') {
            return self.leave();
        }
        visitor.visit_newtype_struct(self)
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    forward_to_deserialize_any! {
        bool char str bytes byte_buf unit unit_struct string identifier seq tuple tuple_struct struct
        map ignored_any i8 i16 i32 i64 u8 u16 u32 u64 f32 f64
    }
}

/// The elements of a document or an array.
struct Elements<'de, 'a> {
    rest: &'de [u8],
    value: Value<'de, 'a>,
}

impl<'de, 'a> Elements<'de, 'a> {
    /// The elements of a complete document: its length, its elements, a NUL.
    fn of(value: Value<'de, 'a>) -> Result<Self, Error> {
        let length = u32::from_le_bytes(chunk(value.bytes)?);
        if usize::try_from(length) != Ok(value.bytes.len()) {
            return Err(malformed("the length of a document is wrong"));
        }
        match value.bytes.get(4..) {
            Some([rest @ .., 0]) => Ok(Self { rest, value }),
            _ => Err(malformed("a document ends too early")),
        }
    }

    /// Moves to the next element and returns its name.
    #[inline]
    fn next(&mut self) -> Result<Option<&'de str>, Error> {
        let Some((kind, rest)) = self.rest.split_first() else {
            return Ok(None);
        };
        let end = rest.iter().position(|byte| *byte == 0);
        let (name, rest) = end
            .and_then(|end| Some((rest.get(..end)?, rest.get(end + 1..)?)))
            .ok_or_else(|| malformed("a name has no end"))?;
        let length = match *kind {
            DOUBLE | INT64 | DATE_TIME => 8,
            INT32 => 4,
            BOOLEAN => 1,
            NULL => 0,
            STRING => length_at(rest)?.saturating_add(4),
            DOCUMENT | ARRAY => length_at(rest)?,
            _ => return self.value.leave(),
        };
        let (bytes, rest) = rest
            .split_at_checked(length)
            .ok_or_else(|| malformed("a value ends too early"))?;
        if *kind == STRING && bytes.last() != Some(&0) {
            return Err(malformed("a text has no end"));
        }
        (self.value.kind, self.value.bytes, self.rest) = (*kind, bytes, rest);
        std::str::from_utf8(name).map(Some).map_err(Error::custom)
    }
}

fn length_at(bytes: &[u8]) -> Result<usize, Error> {
    let length = i32::from_le_bytes(chunk(bytes)?);
    usize::try_from(length).map_err(|_| malformed("a length is negative"))
}

impl<'de> MapAccess<'de> for Elements<'de, '_> {
    type Error = Error;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some(name) = self.next()? else {
            return Ok(None);
        };
        seed.deserialize(BorrowedStrDeserializer::new(name))
            .map(Some)
    }

    #[inline]
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self.value)
    }
}

impl<'de> SeqAccess<'de> for Elements<'de, '_> {
    type Error = Error;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        match self.next()? {
            None => Ok(None),
            Some(_) => seed.deserialize(self.value).map(Some),
        }
    }
}

#[cfg(test)]
mod serde_forms;
#[cfg(test)]
mod tests;
