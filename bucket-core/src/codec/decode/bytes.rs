//! Values in the bytes of a document.
//!
//! Format: the BSON specification 1.1 (bsonspec.org).

use bson::error::Error;
use serde::de::{Error as _, Visitor};

use super::value::{Elements, Leave, Next, Stored};
use crate::codec::raw::kind::{ARRAY, BOOLEAN, DATE, DOCUMENT, DOUBLE, INT32, INT64, NULL, STRING};

/// A value, with exactly the bytes of its type.
#[derive(Clone, Copy)]
pub(super) struct Bytes<'de> {
    kind: u8,
    bytes: &'de [u8],
}

impl<'de> Bytes<'de> {
    pub(super) const fn of_document(bytes: &'de [u8]) -> Self {
        let kind = DOCUMENT;
        Self { kind, bytes }
    }
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

impl<'de> Stored<'de> for Bytes<'de> {
    #[inline]
    fn visit<V: Visitor<'de>>(self, visitor: V, leave: Leave<'_>) -> Result<V::Value, Error> {
        let bytes = self.bytes;
        match self.kind {
            DOUBLE => visitor.visit_f64(f64::from_le_bytes(chunk(bytes)?)),
            INT32 => visitor.visit_i32(i32::from_le_bytes(chunk(bytes)?)),
            INT64 => visitor.visit_i64(i64::from_le_bytes(chunk(bytes)?)),
            STRING => visitor.visit_borrowed_str(text(bytes)?),
            BOOLEAN => visitor.visit_bool(match bytes {
                [0] => false,
                [1] => true,
                _ => return Err(malformed("a boolean is neither true nor false")),
            }),
            NULL => visitor.visit_unit(),
            DOCUMENT => visitor.visit_map(leave.with(Rest::of(bytes)?)),
            ARRAY => visitor.visit_seq(leave.with(Rest::of(bytes)?)),
            _ => leave.it(),
        }
    }

    fn text(self) -> Result<Option<&'de str>, Error> {
        let is_text = self.kind == STRING;
        is_text.then(|| text(self.bytes)).transpose()
    }

    #[inline]
    fn date(self) -> Result<Option<i64>, Error> {
        if self.kind != DATE {
            return Ok(None);
        }
        Ok(Some(i64::from_le_bytes(chunk(self.bytes)?)))
    }

    #[inline]
    fn is_null(self) -> bool {
        self.kind == NULL
    }
}

/// The elements of a document or an array that are left.
pub(super) struct Rest<'de>(&'de [u8]);

impl<'de> Rest<'de> {
    /// The elements of a complete document: its length, its elements, a NUL.
    fn of(bytes: &'de [u8]) -> Result<Self, Error> {
        let length = u32::from_le_bytes(chunk(bytes)?);
        if usize::try_from(length) != Ok(bytes.len()) {
            return Err(malformed("the length of a document is wrong"));
        }
        match bytes.get(4..) {
            Some([rest @ .., 0]) => Ok(Self(rest)),
            _ => Err(malformed("a document ends too early")),
        }
    }
}

impl<'de> Elements<'de> for Rest<'de> {
    type Value = Bytes<'de>;

    #[inline]
    fn next(&mut self) -> Result<Next<'de, Bytes<'de>>, Error> {
        let Some((&kind, rest)) = self.0.split_first() else {
            return Ok(Next::End);
        };
        let end = rest.iter().position(|byte| *byte == 0);
        let (name, rest) = end
            .and_then(|end| Some((rest.get(..end)?, rest.get(end + 1..)?)))
            .ok_or_else(|| malformed("a name has no end"))?;
        let length = match kind {
            DOUBLE | INT64 | DATE => 8,
            INT32 => 4,
            BOOLEAN => 1,
            NULL => 0,
            STRING => length_at(rest)?.saturating_add(4),
            DOCUMENT | ARRAY => length_at(rest)?,
            // How long it is.
            _ => return Ok(Next::Foreign),
        };
        let (bytes, rest) = rest
            .split_at_checked(length)
            .ok_or_else(|| malformed("a value ends too early"))?;
        if kind == STRING && bytes.last() != Some(&0) {
            return Err(malformed("a text has no end"));
        }
        self.0 = rest;
        let name = std::str::from_utf8(name).map_err(Error::custom)?;
        Ok(Next::Element(name, Bytes { kind, bytes }))
    }
}

fn length_at(bytes: &[u8]) -> Result<usize, Error> {
    let length = i32::from_le_bytes(chunk(bytes)?);
    usize::try_from(length).map_err(|_| malformed("a length is negative"))
}
