//! The rules for a document to be stored and read again, beyond valid BSON.

use std::collections::HashMap;

use bson::RawDocument;
use serde::{Serialize, de::DeserializeOwned, ser::Error as _};

use super::{Error, kind, names};
use crate::{
    codec::{
        decode::decode,
        raw::{Element, Elements, element_parts, elements},
    },
    error::EncodeError,
};

/// The levels of documents and arrays that the server stores.
pub(crate) const DOCUMENT_LEVELS: usize = 180;

/// The levels that remain for an item: the bucket and its array take two.
pub(crate) const ITEM_LEVELS: usize = DOCUMENT_LEVELS - 2;

/// Why a document is not stored.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Its serde form is not a document.
    Serialize(Error),
    /// One of its documents has a name twice.
    Repeated(String),
    /// It has more levels of documents and arrays than the server accepts.
    TooDeep,
    /// Its type could not read the stored form.
    Unreadable(Error),
}

impl Refusal {
    /// The error for a record that may have this many levels.
    pub(crate) fn of_record(self, limit: usize) -> EncodeError {
        match self {
            Self::Serialize(source) => EncodeError::Serialize(source.into()),
            Self::Repeated(name) => EncodeError::RepeatedName { name },
            Self::TooDeep => EncodeError::TooDeep { limit },
            Self::Unreadable(source) => EncodeError::Unreadable(source.into()),
        }
    }
}

/// Findings while a document is written.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// A name begins with `$`: some types read such a document as another value.
    pub(crate) has_operators: bool,
    /// A struct has names that are data. They may equal the names or aliases of omitted fields.
    pub(crate) has_flattened: bool,
    refused: Option<Box<Refusal>>,
}

impl Findings {
    /// Records why the document is refused, because serde's errors can only hold text.
    #[cold]
    pub(super) fn refuse(&mut self, refusal: Refusal) -> Error {
        self.refused.get_or_insert_with(|| Box::new(refusal));
        Error::custom("the document cannot be stored")
    }

    /// Whether nothing was found, so that no further check is needed.
    #[inline]
    pub(crate) fn are_none(&self) -> bool {
        !self.is_doubtful() && self.refused.is_none()
    }

    /// Why the document cannot be stored, if it cannot.
    pub(crate) fn of(&mut self, encoded: Result<(), Error>) -> Result<(), Refusal> {
        match (self.refused.take(), encoded) {
            (Some(refusal), _) => Err(*refusal),
            (None, encoded) => encoded.map_err(Refusal::Serialize),
        }
    }

    /// Whether only a trial read can show that the document is readable.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.has_operators || self.has_flattened
    }

    /// Checks a value that was not written element by element.
    pub(super) fn look_into(
        &mut self,
        kind: u8,
        value: &[u8],
        levels: usize,
    ) -> Result<(), Refusal> {
        match kind {
            kind::DOCUMENT => self.look_at(value, true, levels),
            kind::ARRAY => self.look_at(value, false, levels),
            kind::CODE_WITH_SCOPE => {
                let scope = scope(value).ok_or_else(malformed)?;
                self.look_at(scope, true, levels)
            }
            _ => Ok(()),
        }
    }

    fn look_at(&mut self, value: &[u8], is_document: bool, levels: usize) -> Result<(), Refusal> {
        let levels = levels.checked_sub(1).ok_or(Refusal::TooDeep)?;
        let length = value
            .first_chunk()
            .map(|length| i32::from_le_bytes(*length));
        if length.and_then(|length| usize::try_from(length).ok()) != Some(value.len()) {
            return Err(malformed());
        }
        let Some([elements @ .., 0]) = value.get(4..) else {
            return Err(malformed());
        };
        let mut rest = elements;
        while !rest.is_empty() {
            let (element, behind) = element_parts(rest).ok_or_else(malformed)?;
            self.has_operators |= element.name.starts_with(b"$");
            self.look_into(element.kind, element.bytes, levels)?;
            rest = behind;
        }
        match names::repeated(value).filter(|_| is_document) {
            Some(name) => Err(Refusal::Repeated(
                String::from_utf8_lossy(name).into_owned(),
            )),
            None => Ok(()),
        }
    }
}

/// The scope document at the end of code.
fn scope(value: &[u8]) -> Option<&[u8]> {
    // The total length and the length of the code.
    let code = i32::from_le_bytes(*value.get(4..)?.first_chunk()?);
    value.get(8_usize.checked_add(usize::try_from(code).ok()?)?..)
}

/// For raw documents with invalid bytes, and for types that use the name of a BSON type.
#[cold]
pub(super) fn malformed() -> Refusal {
    Refusal::Serialize(Error::custom("the bytes of a value are not valid BSON"))
}

/// Reads a document that was just written, as a later read of the stored form would.
pub(crate) fn check_read<T: Serialize + DeserializeOwned>(
    document: &[u8],
    findings: &Findings,
) -> Result<(), Refusal> {
    let read: T = decode(document).map_err(Refusal::Unreadable)?;
    if !findings.has_operators {
        return Ok(());
    }
    // A type that cannot be written has nothing to compare with.
    let Ok(again) = bson::serialize_to_vec(&read) else {
        return Ok(());
    };
    let both = (
        RawDocument::from_bytes(document),
        RawDocument::from_bytes(&again),
    );
    let (Ok(written), Ok(again)) = both else {
        return Ok(());
    };
    match lost(elements(written), elements(again)) {
        Some(name) => Err(Refusal::Unreadable(Error::custom(format_args!(
            "a document with `{name}` is read as a value of MongoDB's extended JSON, without its other \
             fields"
        )))),
        None => Ok(()),
    }
}

/// The name with a `$` prefix for which a document was read as another value, although it has more
/// fields than such a value. What was not read at all is the concern of its type.
fn lost(written: Elements<'_>, read: Elements<'_>) -> Option<String> {
    let read = read.map_while(Result::ok);
    let read: HashMap<&str, Element<'_>> = read.map(|element| (element.name, element)).collect();
    written.map_while(Result::ok).find_map(|element| {
        let again = read.get(element.name)?;
        if !matches!(element.kind, kind::DOCUMENT | kind::ARRAY) {
            return None;
        }
        let inside = || element.entries().ok();
        if again.kind == element.kind {
            return lost(inside()?, again.entries().ok()?);
        }
        let names: Vec<&str> = inside()?.map_while(Result::ok).map(|it| it.name).collect();
        let is_whole = match names.as_slice() {
            [_] => true,
            [one, other] => matches!((*one, *other), ("$code", "$scope") | ("$scope", "$code")),
            _ => false,
        };
        let mut read_as = names.into_iter().filter(|name| means(name, again.kind));
        read_as.next().filter(|_| !is_whole).map(str::to_owned)
    })
}

/// Whether a document with this name means a value of this type in extended JSON.
fn means(name: &str, kind: u8) -> bool {
    match name {
        "$oid" => kind == kind::OBJECT_ID,
        "$date" => kind == kind::DATE,
        "$numberInt" => kind == kind::INT32,
        "$numberLong" => kind == kind::INT64,
        "$numberDouble" => kind == kind::DOUBLE,
        "$numberDecimal" | "$numberDecimalBytes" => kind == kind::DECIMAL,
        "$binary" | "$uuid" => kind == kind::BINARY,
        "$timestamp" => kind == kind::TIMESTAMP,
        "$regularExpression" => kind == kind::REGEX,
        "$code" | "$scope" => matches!(kind, kind::CODE | kind::CODE_WITH_SCOPE),
        "$symbol" => kind == kind::SYMBOL,
        "$dbPointer" => kind == kind::DB_POINTER,
        "$undefined" => kind == kind::UNDEFINED,
        "$minKey" => kind == kind::MIN_KEY,
        "$maxKey" => kind == kind::MAX_KEY,
        _ => false,
    }
}
