//! The bytes written so far, and the value that comes next.

use super::{Error, Findings, KnownNames, Refusal, by_bson::no_name};
use crate::codec::raw::{kind, push_index};

/// Writes the values of elements in order.
///
/// An element's type precedes its name, but serde reports the type after the name.
/// [`name`](Self::name) therefore reserves the type's byte, and the value sets it.
#[derive(Debug)]
pub(crate) struct Encoder<'a> {
    pub(super) bytes: &'a mut Vec<u8>,
    pub(super) type_at: usize,
    /// The number of levels of documents and arrays that may still begin.
    pub(super) levels: usize,
    pub(super) findings: &'a mut Findings,
    pub(super) known: &'a mut KnownNames,
}

impl<'a> Encoder<'a> {
    /// An encoder that continues in this buffer, with at most this many levels of documents and
    /// arrays.
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

    /// Begins a document and returns its start.
    ///
    /// # Errors
    ///
    /// If this exceeds the level limit. The server stores no deeper documents, and refuses the
    /// whole command that contains one.
    #[inline]
    pub(crate) fn begin(&mut self) -> Result<usize, Error> {
        let Some(levels) = self.levels.checked_sub(1) else {
            return Err(self.findings.refuse(Refusal::TooDeep));
        };
        self.levels = levels;
        Ok(self.length())
    }

    /// Begins the first document, which takes one of the levels. Returns its start.
    #[inline]
    pub(crate) fn begin_first(&mut self) -> usize {
        self.levels = self.levels.saturating_sub(1);
        self.length()
    }

    /// Reserves room for a length.
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
    /// If the name contains a NUL, which would end it.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "field names are constants, so the compiler evaluates the checks"
    )]
    pub(crate) fn name(&mut self, name: &str) -> Result<(), Error> {
        if name.as_bytes().contains(&0) {
            return Err(no_name(name));
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

    /// Records that names are data and may equal those of other fields.
    #[inline]
    pub(crate) fn has_flattened(&mut self) {
        self.findings.has_flattened = true;
    }

    /// Begins the element of an array.
    #[inline]
    pub(super) fn index(&mut self, index: usize) {
        self.type_at = self.bytes.len();
        push_index(self.bytes, 0, index);
    }

    /// A date, in milliseconds since 1970.
    #[inline]
    pub(crate) fn date(&mut self, millis: i64) {
        self.value(kind::DATE, &millis.to_le_bytes());
    }

    #[inline]
    pub(super) fn kind(&mut self, kind: u8) {
        self.bytes[self.type_at] = kind;
    }

    #[inline]
    pub(super) fn value(&mut self, kind: u8, value: &[u8]) {
        self.kind(kind);
        self.bytes.extend_from_slice(value);
    }
}

/// A length as BSON stores it. `bson` truncates longer documents as well; they are refused by size
/// before anything is sent.
#[inline]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "as `bson` does"
)]
pub(super) fn length(length: usize) -> [u8; 4] {
    (length as i32).to_le_bytes()
}
