//! Values in packed columns, which are read without putting the document together.

use bson::error::Error;
use bucket_columns::{Fields, Packed, Row, Value};
use serde::de::{Error as _, Visitor};

use super::value::{Elements, Leave, Next, Stored};

/// A document whose fields are in columns, or a value in one of them.
#[derive(Clone, Copy)]
pub(super) enum Column<'de> {
    Document(Row<'de>),
    Packed(Packed<'de>),
}

fn text(bytes: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(bytes).map_err(Error::custom)
}

impl<'de> Stored<'de> for Column<'de> {
    #[inline]
    fn visit<V: Visitor<'de>>(self, visitor: V, leave: Leave<'_>) -> Result<V::Value, Error> {
        let packed = match self {
            Self::Document(row) => return visitor.visit_map(leave.with(row.fields())),
            Self::Packed(packed) => packed,
        };
        match packed.value() {
            Value::Double(value) => visitor.visit_f64(value),
            Value::Int32(value) => visitor.visit_i32(value),
            Value::Int64(value) => visitor.visit_i64(value),
            Value::Text(bytes) => visitor.visit_borrowed_str(text(bytes)?),
            Value::Boolean(value) => visitor.visit_bool(value),
            Value::Null => visitor.visit_unit(),
            Value::Document(row) => visitor.visit_map(leave.with(row.fields())),
            _ => leave.it(),
        }
    }

    fn text(self) -> Result<Option<&'de str>, Error> {
        match self {
            Self::Packed(packed) => match packed.value() {
                Value::Text(bytes) => text(bytes).map(Some),
                _ => Ok(None),
            },
            Self::Document(_) => Ok(None),
        }
    }

    #[inline]
    fn date(self) -> Result<Option<i64>, Error> {
        Ok(match self {
            Self::Packed(packed) => match packed.value() {
                Value::Date(millis) => Some(millis),
                _ => None,
            },
            Self::Document(_) => None,
        })
    }

    #[inline]
    fn is_null(self) -> bool {
        matches!(self, Self::Packed(packed) if matches!(packed.value(), Value::Null))
    }
}

impl<'de> Elements<'de> for Fields<'de> {
    type Value = Column<'de>;

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "otherwise each value goes through memory"
    )]
    fn next(&mut self) -> Result<Next<'de, Column<'de>>, Error> {
        Ok(match Iterator::next(self) {
            Some((Some(name), value)) => Next::Element(name, Column::Packed(value)),
            Some((None, _)) => Next::Foreign,
            None => Next::End,
        })
    }
}
