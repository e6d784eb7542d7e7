//! The elements of BSON bytes. Reading commands is most of the model's work, and this reader takes
//! a third of the time of the general one.

use bson::{Timestamp, oid::ObjectId, spec::BinarySubtype};

use crate::{
    error::Refusal,
    value::{Fields, Value},
};

/// Iterates over the elements of a document or an array.
#[derive(Debug, Clone)]
pub(crate) struct Elements<'a>(&'a [u8]);

/// One element, as in the bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Element<'a> {
    pub(crate) name: &'a str,
    kind: u8,
    bytes: &'a [u8],
}

impl<'a> Elements<'a> {
    /// The elements of a document with its length and its end.
    pub(crate) fn of(document: &'a [u8]) -> Result<Self, Refusal> {
        let (length, _) = number(document)?;
        match document.get(4..length.wrapping_sub(1)) {
            Some(elements) if length == document.len() && document[length - 1] == 0 => {
                Ok(Self(elements))
            }
            _ => Err(damaged("a document is not as long as it says")),
        }
    }

    /// The first element of this name.
    pub(crate) fn find(mut self, name: &str) -> Result<Option<Element<'a>>, Refusal> {
        while let Some(element) = self.next()? {
            if element.name == name {
                return Ok(Some(element));
            }
        }
        Ok(None)
    }

    /// The number of elements.
    pub(crate) fn count(mut self) -> Result<usize, Refusal> {
        let mut count = 0;
        while self.next()?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    pub(crate) fn next(&mut self) -> Result<Option<Element<'a>>, Refusal> {
        let Some((kind, rest)) = self.0.split_first() else {
            return Ok(None);
        };
        let end = rest.iter().position(|byte| *byte == 0);
        let end = end.ok_or_else(|| damaged("a name without an end"))?;
        let rest_after = &rest[end + 1..];
        let length = length(*kind, rest_after)?;
        let Some(bytes) = rest_after.get(..length) else {
            return Err(damaged("an element is longer than its document"));
        };
        self.0 = &rest_after[length..];
        Ok(Some(Element {
            name: text(&rest[..end])?,
            kind: *kind,
            bytes,
        }))
    }
}

impl<'a> Element<'a> {
    /// The bytes of a document.
    pub(crate) fn as_document(&self) -> Option<&'a [u8]> {
        (self.kind == 0x03).then_some(self.bytes)
    }

    /// The items of an array.
    pub(crate) fn as_array(&self) -> Option<Elements<'a>> {
        let of = |()| Elements::of(self.bytes).ok();
        (self.kind == 0x04).then_some(()).and_then(of)
    }

    pub(crate) fn as_str(&self) -> Option<&'a str> {
        let (0, text) = self.bytes.get(4..)?.split_last()? else {
            return None;
        };
        (self.kind == 0x02).then(|| std::str::from_utf8(text).ok())?
    }

    pub(crate) fn as_i64(&self) -> Option<i64> {
        let bytes = array(self.bytes).ok().filter(|_| self.kind == 0x12);
        bytes.map(i64::from_le_bytes)
    }

    /// The bytes of binary data, of any subtype.
    pub(crate) fn as_binary(&self) -> Option<&'a [u8]> {
        self.bytes.get(5..).filter(|_| self.kind == 0x05)
    }

    pub(crate) fn as_timestamp(&self) -> Option<Timestamp> {
        match self.value() {
            Ok(Value::Timestamp(time)) => Some(time),
            _ => None,
        }
    }

    pub(crate) fn value(&self) -> Result<Value, Refusal> {
        let bytes = self.bytes;
        Ok(match self.kind {
            0x01 => Value::Double(f64::from_le_bytes(array(bytes)?)),
            0x02 => match bytes.split_last() {
                Some((0, rest)) => Value::String(text(rest.get(4..).unwrap_or_default())?.into()),
                _ => return Err(damaged("a text without an end")),
            },
            0x03 => Value::Document(Fields::read(bytes)?.into()),
            0x04 => {
                let mut elements = Elements::of(bytes)?;
                let mut items = Vec::new();
                while let Some(item) = elements.next()? {
                    items.push(item.value()?);
                }
                Value::Array(items.into())
            }
            // Binary data of the old subtype contains its length twice.
            0x05 if bytes.get(4) != Some(&2) => {
                let (_, rest) = number(bytes)?;
                let (subtype, rest) = rest.split_first().ok_or_else(|| damaged("no subtype"))?;
                Value::Binary((BinarySubtype::from(*subtype), rest.to_vec()).into())
            }
            0x07 => Value::ObjectId(ObjectId::from_bytes(array(bytes)?)),
            0x08 => Value::Boolean(bytes != [0]),
            0x09 => Value::DateTime(i64::from_le_bytes(array(bytes)?)),
            0x0a => Value::Null,
            0x10 => Value::Int32(i32::from_le_bytes(array(bytes)?)),
            0x11 => match u64::from_le_bytes(array(bytes)?) {
                0 => return Err(Refusal::unknown("the timestamp that means now")),
                stamp => Value::Timestamp(Timestamp {
                    time: u32::try_from(stamp >> 32).unwrap_or_default(),
                    increment: u32::try_from(stamp & u64::from(u32::MAX)).unwrap_or_default(),
                }),
            },
            0x12 => Value::Int64(i64::from_le_bytes(array(bytes)?)),
            0x7f => Value::MaxKey,
            0xff => Value::MinKey,
            kind => {
                return Err(Refusal::unknown(format_args!(
                    "values of the type {kind:#04x}"
                )));
            }
        })
    }
}

impl Fields {
    /// From the bytes of a document.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Refusal> {
        let mut fields: Vec<(std::sync::Arc<str>, Value)> = Vec::with_capacity(8);
        let mut elements = Elements::of(bytes)?;
        while let Some(element) = elements.next()? {
            if fields.iter().any(|(other, _)| **other == *element.name) {
                return Err(Refusal::unknown("documents with two fields of one name"));
            }
            fields.push((element.name.into(), element.value()?));
        }
        Ok(Self(fields))
    }
}

impl Fields {
    /// As BSON.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.size());
        self.write(&mut bytes);
        bytes
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        write_all(
            bytes,
            self.0.iter().map(|(name, value)| (name.as_bytes(), value)),
        );
    }
}

fn write_all<N: AsRef<[u8]>, V: std::borrow::Borrow<Value>>(
    bytes: &mut Vec<u8>,
    fields: impl Iterator<Item = (N, V)>,
) {
    let start = bytes.len();
    bytes.extend([0; 4]);
    for (name, value) in fields {
        let kind = bytes.len();
        bytes.push(0);
        bytes.extend(name.as_ref());
        bytes.push(0);
        bytes[kind] = write_value(value.borrow(), bytes);
    }
    bytes.push(0);
    let length = (bytes.len() - start) as u64;
    bytes[start..start + 4].copy_from_slice(&length.to_le_bytes()[..4]);
}

/// Writes a value and returns its type.
fn write_value(value: &Value, bytes: &mut Vec<u8>) -> u8 {
    let length = |length: usize| u32::try_from(length).unwrap_or_default().to_le_bytes();
    match value {
        Value::Double(value) => {
            bytes.extend(value.to_le_bytes());
            0x01
        }
        Value::String(text) => {
            bytes.extend(length(text.len() + 1));
            bytes.extend(text.as_bytes());
            bytes.push(0);
            0x02
        }
        Value::Document(fields) => {
            fields.write(bytes);
            0x03
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            write_all(bytes, items.map(|(at, item)| (at.to_string(), item)));
            0x04
        }
        Value::Binary(binary) => {
            bytes.extend(length(binary.1.len()));
            bytes.push(binary.0.into());
            bytes.extend(&binary.1);
            0x05
        }
        Value::Undefined => 0x06,
        Value::ObjectId(id) => {
            bytes.extend(id.bytes());
            0x07
        }
        Value::Boolean(value) => {
            bytes.push(u8::from(*value));
            0x08
        }
        Value::DateTime(millis) => {
            bytes.extend(millis.to_le_bytes());
            0x09
        }
        Value::Null => 0x0a,
        Value::Int32(value) => {
            bytes.extend(value.to_le_bytes());
            0x10
        }
        Value::Timestamp(stamp) => {
            bytes.extend(stamp.increment.to_le_bytes());
            bytes.extend(stamp.time.to_le_bytes());
            0x11
        }
        Value::Int64(value) => {
            bytes.extend(value.to_le_bytes());
            0x12
        }
        Value::MaxKey => 0x7f,
        Value::MinKey => 0xff,
    }
}

/// The number of bytes of a value with this type.
fn length(kind: u8, bytes: &[u8]) -> Result<usize, Refusal> {
    Ok(match kind {
        0x01 | 0x09 | 0x11 | 0x12 => 8,
        0x02 => number(bytes)?.0.saturating_add(4),
        0x03 | 0x04 => number(bytes)?.0,
        0x05 => number(bytes)?.0.saturating_add(5),
        0x07 => 12,
        0x08 => 1,
        0x10 => 4,
        0x0a | 0x7f | 0xff => 0,
        kind => {
            return Err(Refusal::unknown(format_args!(
                "values of the type {kind:#04x}"
            )));
        }
    })
}

/// A length, and the bytes after it.
fn number(bytes: &[u8]) -> Result<(usize, &[u8]), Refusal> {
    let (number, rest) = bytes
        .split_first_chunk()
        .ok_or_else(|| damaged("a length without its bytes"))?;
    let number = usize::try_from(i32::from_le_bytes(*number));
    let number = number.map_err(|_| damaged("a length below zero"))?;
    Ok((number, rest))
}

fn array<const N: usize>(bytes: &[u8]) -> Result<[u8; N], Refusal> {
    bytes
        .try_into()
        .map_err(|_| damaged("a value of another length"))
}

fn text(bytes: &[u8]) -> Result<&str, Refusal> {
    std::str::from_utf8(bytes).map_err(crate::value::damaged)
}

fn damaged(what: &str) -> Refusal {
    crate::value::damaged(what)
}
