//! A value that a write adds to a bucket.

use bson::DateTime;

use super::RawWriter;
use crate::model::measure::Number;

/// A value with its stored type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Operand<'a> {
    Number(Number),
    Int32(i32),
    Int64(i64),
    Bool(bool),
    Text(&'a str),
    /// In milliseconds.
    Date(i64),
    /// Documents compare field by field: the time decides, then the value.
    InTime(i64, Number),
    /// Documents, as an array.
    Items(&'a [&'a [u8]]),
}

impl Operand<'_> {
    pub(crate) fn date(date: DateTime) -> Self {
        Self::Date(date.timestamp_millis())
    }

    /// As the server counts: 32 bits if they suffice.
    pub(crate) fn integer(value: i64) -> Self {
        i32::try_from(value).map_or(Self::Int64(value), Self::Int32)
    }

    #[inline]
    pub(crate) fn write(self, writer: &mut RawWriter, name: &str) {
        match self {
            Self::Number(number) => writer.number(name, number),
            Self::Int32(value) => writer.int32(name, value),
            Self::Int64(value) => writer.int64(name, value),
            Self::Bool(value) => writer.bool(name, value),
            Self::Text(text) => writer.string(name, text),
            Self::Date(millis) => writer.date(name, millis),
            Self::InTime(time, number) => {
                let pair = writer.begin_document(name);
                writer.date("t", time);
                writer.number("v", number);
                writer.end(pair);
            }
            Self::Items(items) => {
                let array = writer.begin_array(name);
                for (index, item) in items.iter().enumerate() {
                    writer.element(index, item);
                }
                writer.end(array);
            }
        }
    }
}
