//! The values of one field that have one type.

use pco::wrapped::FileDecompressor;

use crate::{
    blobs::{self, Blobs},
    bytes::Input,
    doubles,
    element::{is_value, kind},
    error::{PackError, Read, damaged},
    integers,
    node::Node,
    row::Value,
    rows::Part,
    tags::{self, Tags},
};

/// Values that are being collected.
#[derive(Debug)]
pub(crate) enum Collected<'a> {
    Nothing,
    Doubles(Vec<f64>),
    Integers(Vec<i64>),
    Flags(Vec<u8>),
    /// Object ids and decimals: their first bytes and their last ones.
    Pairs(Vec<i64>, Vec<i64>),
    /// Without the length and the NUL.
    Texts(Vec<&'a [u8]>),
    /// The subtypes and the bytes.
    Binaries(Vec<u8>, Vec<&'a [u8]>),
    /// Values as they are in the document.
    Raw(Vec<&'a [u8]>),
    Documents(Box<Node<'a>>),
}

impl<'a> Collected<'a> {
    pub(crate) fn new(kind: u8, level: usize) -> Self {
        match kind {
            kind::DOUBLE => Self::Doubles(Vec::new()),
            kind::INT32 | kind::INT64 | kind::DATE | kind::TIMESTAMP => Self::Integers(Vec::new()),
            kind::BOOL => Self::Flags(Vec::new()),
            kind::OBJECT_ID | kind::DECIMAL => Self::Pairs(Vec::new(), Vec::new()),
            kind::TEXT | kind::CODE | kind::SYMBOL => Self::Texts(Vec::new()),
            kind::BINARY => Self::Binaries(Vec::new(), Vec::new()),
            kind::UNDEFINED | kind::NULL | kind::MIN_KEY | kind::MAX_KEY => Self::Nothing,
            kind::DOCUMENT => Self::Documents(Box::new(Node::new(level))),
            _ => Self::Raw(Vec::new()),
        }
    }

    /// Takes the bytes of a value, whose length is that of its type.
    pub(crate) fn push(&mut self, value: &'a [u8]) {
        match self {
            Self::Nothing => {}
            Self::Doubles(doubles) => doubles.push(f64::from_le_bytes(first(value))),
            Self::Integers(integers) => integers.push(match value.len() {
                4 => i32::from_le_bytes(first(value)).into(),
                _ => i64::from_le_bytes(first(value)),
            }),
            Self::Flags(flags) => flags.extend(value),
            // An object id: the seconds, then a random number and a counter.
            Self::Pairs(heads, tails) if value.len() == 12 => {
                heads.push(u32::from_be_bytes(first(value)).into());
                tails.push(i64::from_be_bytes(first(
                    value.get(4..).unwrap_or_default(),
                )));
            }
            Self::Pairs(heads, tails) => {
                heads.push(i64::from_le_bytes(first(value)));
                tails.push(i64::from_le_bytes(first(
                    value.get(8..).unwrap_or_default(),
                )));
            }
            Self::Texts(texts) => {
                let end = value.len().saturating_sub(1);
                texts.push(value.get(4..end).unwrap_or_default());
            }
            Self::Binaries(kinds, bytes) => {
                kinds.push(value.get(4).copied().unwrap_or_default());
                bytes.push(value.get(5..).unwrap_or_default());
            }
            Self::Raw(values) => values.push(value),
            Self::Documents(node) => node.push(value),
        }
    }

    pub(crate) fn pack(&self, out: &mut Vec<u8>) -> Result<(), PackError> {
        match self {
            Self::Nothing => Ok(()),
            Self::Doubles(doubles) => doubles::pack(doubles, out),
            Self::Integers(integers) => integers::pack(integers, out),
            Self::Flags(flags) => {
                tags::pack(flags, out);
                Ok(())
            }
            Self::Pairs(heads, tails) => {
                integers::pack(heads, out)?;
                integers::pack(tails, out)
            }
            Self::Texts(texts) => blobs::pack(texts, out),
            Self::Binaries(kinds, bytes) => {
                tags::pack(kinds, out);
                blobs::pack(bytes, out)
            }
            Self::Raw(values) => blobs::pack(values, out),
            Self::Documents(node) => node.pack(out),
        }
    }
}

/// The first bytes of a value that has at least as many.
fn first<const N: usize>(value: &[u8]) -> [u8; N] {
    value.first_chunk().copied().unwrap_or([0; N])
}

/// Values that were read.
#[derive(Debug)]
pub(crate) enum Values<'a> {
    Nothing,
    Doubles(Vec<f64>),
    Narrow(Vec<i64>),
    Wide(Vec<i64>),
    Flags(Tags),
    ObjectIds(Vec<i64>, Vec<i64>),
    Decimals(Vec<i64>, Vec<i64>),
    Texts(Blobs<'a>),
    Binaries(Tags, Blobs<'a>),
    Raw(Blobs<'a>),
    Documents(Box<Part<'a>>),
}

impl<'a> Values<'a> {
    /// Reads this many.
    pub(crate) fn read(
        kind: u8,
        input: &mut Input<'a>,
        format: &FileDecompressor,
        count: usize,
        level: usize,
    ) -> Read<Self> {
        let least = match kind {
            kind::UNDEFINED | kind::NULL | kind::MIN_KEY | kind::MAX_KEY => 0,
            kind::BOOL => 1,
            kind::INT32 => 4,
            kind::OBJECT_ID => 12,
            kind::DECIMAL => 16,
            kind::DOUBLE | kind::INT64 | kind::DATE | kind::TIMESTAMP => 8,
            _ => 5,
        };
        input.reserve(count, least)?;
        let mut integers = || integers::unpack(input, format, count);
        Ok(match kind {
            kind::UNDEFINED | kind::NULL | kind::MIN_KEY | kind::MAX_KEY => Self::Nothing,
            kind::DOUBLE => Self::Doubles(doubles::unpack(input, format, count)?),
            kind::INT32 => Self::Narrow(integers()?),
            kind::INT64 | kind::DATE | kind::TIMESTAMP => Self::Wide(integers()?),
            kind::BOOL => {
                let flags = tags::unpack(input, count)?;
                if flags.counts(count).iter().any(|(flag, _)| *flag > 1) {
                    return damaged("a truth value is neither true nor false");
                }
                Self::Flags(flags)
            }
            kind::OBJECT_ID => Self::ObjectIds(integers()?, integers()?),
            kind::DECIMAL => Self::Decimals(integers()?, integers()?),
            kind::TEXT | kind::CODE | kind::SYMBOL => {
                Self::Texts(blobs::unpack(input, format, count)?)
            }
            kind::BINARY => Self::Binaries(
                tags::unpack(input, count)?,
                blobs::unpack(input, format, count)?,
            ),
            kind::DOCUMENT => Self::Documents(Box::new(Part::read(input, format, count, level)?)),
            kind::ARRAY | kind::REGEX | kind::DB_POINTER | kind::CODE_WITH_SCOPE => {
                let values = blobs::unpack(input, format, count)?;
                if !values.different().all(|value| is_value(kind, value)) {
                    return damaged("a value is none of its type");
                }
                Self::Raw(values)
            }
            _ => return damaged("a field has an unknown type"),
        })
    }

    /// The value of a row; of documents, the next one.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "otherwise each value goes through memory"
    )]
    pub(crate) fn get(&self, kind: u8, row: usize) -> Value<'_> {
        let integer = |of: &[i64]| of.get(row).copied().unwrap_or_default();
        match (self, kind) {
            (Self::Doubles(doubles), _) => {
                Value::Double(doubles.get(row).copied().unwrap_or_default())
            }
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the bytes that are written, too, are the lower ones"
            )]
            (Self::Narrow(numbers), _) => Value::Int32(integer(numbers) as i32),
            (Self::Wide(numbers), kind::INT64) => Value::Int64(integer(numbers)),
            (Self::Wide(numbers), kind::DATE) => Value::Date(integer(numbers)),
            (Self::Flags(flags), _) => Value::Boolean(flags.get(row) == 1),
            (Self::Texts(texts), kind::TEXT) => Value::Text(texts.get(row)),
            (Self::Nothing, kind::NULL) => Value::Null,
            (Self::Documents(part), _) => part.row().map_or(Value::Other, Value::Document),
            _ => Value::Other,
        }
    }

    /// Writes the value of a row as it is in a document.
    pub(crate) fn write(&mut self, row: usize, out: &mut Vec<u8>) {
        let integer = |of: &[i64]| of.get(row).copied().unwrap_or_default();
        match self {
            Self::Nothing => {}
            Self::Doubles(doubles) => {
                out.extend(doubles.get(row).copied().unwrap_or_default().to_le_bytes());
            }
            Self::Narrow(numbers) => out.extend(first::<4>(&integer(numbers).to_le_bytes())),
            Self::Wide(numbers) => out.extend(integer(numbers).to_le_bytes()),
            Self::Flags(flags) => out.push(flags.get(row)),
            Self::ObjectIds(heads, tails) => {
                let head = integer(heads).to_be_bytes();
                out.extend(head.get(4..).unwrap_or_default());
                out.extend(integer(tails).to_be_bytes());
            }
            Self::Decimals(heads, tails) => {
                out.extend(integer(heads).to_le_bytes());
                out.extend(integer(tails).to_le_bytes());
            }
            Self::Texts(texts) => {
                let text = texts.get(row);
                put_prefix(text.len() + 1, out);
                out.extend(text);
                out.push(0);
            }
            Self::Binaries(kinds, bytes) => {
                let bytes = bytes.get(row);
                put_prefix(bytes.len(), out);
                out.push(kinds.get(row));
                out.extend(bytes);
            }
            Self::Raw(values) => out.extend(values.get(row)),
            Self::Documents(part) => part.write_next(out),
        }
    }
}

/// A length as BSON has it.
pub(crate) fn put_prefix(length: usize, out: &mut Vec<u8>) {
    // Documents of more than 64 MiB are not packed.
    out.extend(i32::try_from(length).unwrap_or(i32::MAX).to_le_bytes());
}
