//! Values with special rules, which `bson` writes.

use bson::Bson;
use serde::{Serialize, ser::Error as _};

use super::{
    Encoder, Error,
    by_bson::{OneElement, SpecialStruct},
    check,
};
use crate::codec::raw::element_parts;

/// A document of one element with an empty name: length, type, and the NUL of the name.
const BEFORE_VALUE: usize = 6;

impl Encoder<'_> {
    /// The value of an element as `bson` writes it.
    pub(super) fn special<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let start = self.bytes.len();
        bson::serialize_to_buffer(&OneElement("", value), self.bytes)?;
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

/// A struct that represents a value of a special type. All but one have a single field.
#[derive(Debug)]
pub(crate) struct Special<'e, 'a> {
    encoder: &'e mut Encoder<'a>,
    name: &'static str,
    /// The number of fields that are still missing.
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
        // If it cannot be held, `bson` reports what is wrong: the name or the value.
        if self.left > 1
            && let Ok(value) = bson::serialize_to_bson(value)
        {
            self.left -= 1;
            self.held.push((field, value));
            return Ok(());
        }
        self.written = true;
        let last = Some((field, value));
        self.encoder
            .special(&SpecialStruct(self.name, &self.held, last))
    }

    pub(super) fn finish(self) -> Result<(), Error> {
        if self.written {
            return Ok(());
        }
        let fields = SpecialStruct::<()>(self.name, &self.held, None);
        self.encoder.special(&fields)
    }
}
