//! References to records: the place of a record and what it was, as text for clients.
//!
//! Format, versions 1 and 2, in base64 with the URL-safe alphabet and without padding (RFC 4648, section 5):
//!
//! | bytes | content |
//! | --- | --- |
//! | 1 | the version |
//! | 6 | the key of the record, as in a cursor token without direction and bounds |
//! | 3 to 25 | the bucket's time or number, its sequence, the record's index; each a LEB128 integer, signed ones in zigzag |
//! | 6 | the start of SHA-256 over the content |
//! | 4 | the start of SHA-256 over everything before it |
//!
//! The content of version 1 is the stored item. That of version 2, for a record whose attributes are held by its bucket, is
//! the item and each held array that it relies on: name, NUL, value. Such records had version 1 once, which is still taken.

use std::fmt;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use bson::RawDocument;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{
    ReadKey,
    token::{CHECK, QUERY, TokenError, check, first, query_of},
};
use crate::{
    bucket::{ItemReader, id::Place, record::Record},
    codec::{
        leb128::{pull, push, unzigzag},
        raw::Element,
    },
    model::spec::BucketSpec,
};

const VERSION: u8 = 1;
/// Of a record whose bucket holds attributes for it.
const WITH_HELD: u8 = 2;
const CONTENT: usize = 6;
/// No reference of this version is longer.
const LONGEST: usize = 80;

/// A reference to a stored record, for a later update or removal. The text is opaque, safe in URLs, and
/// about 35 characters long.
///
/// It is bound to the record as it was read: once that is edited, the reference is refused as changed. It
/// names no key and grants no access; the service decides who may write.
///
/// ```
/// use bucket_core::RecordRef;
///
/// let from_a_request = RecordRef::from("AbC-_");
/// assert_eq!(from_a_request.as_str(), "AbC-_");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RecordRef(String);

/// A record, and the reference to it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Referenced<T> {
    /// The reference.
    pub reference: RecordRef,
    /// The record.
    pub record: T,
}

/// What a reference says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) place: Place,
    pub(crate) index: usize,
    version: u8,
    content: [u8; CONTENT],
}

impl Target {
    /// Whether the record is the one that was read.
    pub(crate) fn is(&self, item: &RawDocument, reader: &ItemReader<'_>) -> bool {
        let held = match self.version {
            VERSION => Vec::new(),
            _ => reader.held_for(item),
        };
        self.content == content(item, &held)
    }
}

impl RecordRef {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The place of the record's bucket among those of its key: the same for all records of the bucket.
    #[doc(hidden)]
    #[must_use]
    pub fn bucket(&self) -> Option<(u128, u128)> {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(&self.0).ok()?;
        let mut place = bytes.get(1 + QUERY..)?;
        Some((pull(&mut place)?, pull(&mut place)?))
    }

    /// The reference to the item at this index of a bucket; `None` if the reader does not know the place of the bucket.
    pub(crate) fn new<T: Record>(
        key: &ReadKey,
        index: usize,
        item: &RawDocument,
        reader: &ItemReader<'_>,
    ) -> Option<Self> {
        let (place, index) = reader.place_of(index)?;
        let held = reader.held_for(item);
        Some(Self::of(of_key(T::SPEC, key), place, index, item, &held))
    }

    fn of(
        key: [u8; QUERY],
        place: Place,
        index: u32,
        item: &RawDocument,
        held: &[Element<'_>],
    ) -> Self {
        let version = if held.is_empty() { VERSION } else { WITH_HELD };
        let mut bytes = vec![version];
        bytes.extend_from_slice(&key);
        let (time, sequence) = place.in_reference();
        push(&mut bytes, time);
        push(&mut bytes, sequence);
        push(&mut bytes, index.into());
        bytes.extend_from_slice(&content(item, held));
        let check = check(&bytes);
        bytes.extend_from_slice(&check);
        Self(BASE64_URL_SAFE_NO_PAD.encode(bytes))
    }

    /// What it says, if it refers to a record of this key.
    pub(crate) fn target(&self, spec: &BucketSpec, key: &ReadKey) -> Result<Target, TokenError> {
        const MALFORMED: TokenError = TokenError::Malformed;
        if self.0.len() > LONGEST {
            return Err(MALFORMED);
        }
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(&self.0);
        let bytes = bytes.map_err(|_| MALFORMED)?;
        let (body, found) = bytes.split_last_chunk::<CHECK>().ok_or(MALFORMED)?;
        if *found != check(body) {
            return Err(MALFORMED);
        }
        let (version, body) = body.split_first().ok_or(MALFORMED)?;
        if ![VERSION, WITH_HELD].contains(version) {
            return Err(TokenError::Version { version: *version });
        }
        let (of, body) = body.split_first_chunk::<QUERY>().ok_or(MALFORMED)?;
        if *of != of_key(spec, key) {
            return Err(TokenError::OtherQuery);
        }
        let (mut place, content) = body.split_last_chunk::<CONTENT>().ok_or(MALFORMED)?;
        let mut next = || pull(&mut place).ok_or(MALFORMED);
        let time = i64::try_from(unzigzag(next()?)).map_err(|_| MALFORMED)?;
        let sequence = u64::try_from(next()?).map_err(|_| MALFORMED)?;
        let index = usize::try_from(next()?).map_err(|_| MALFORMED)?;
        Ok(Target {
            place: Place { time, sequence },
            index,
            version: *version,
            content: *content,
        })
    }
}

fn of_key(spec: &BucketSpec, key: &ReadKey) -> [u8; QUERY] {
    query_of(spec, key.elements())
}

fn content(item: &RawDocument, held: &[Element<'_>]) -> [u8; CONTENT] {
    let mut content = Sha256::new();
    content.update(item.as_bytes());
    for array in held {
        content.update(array.name);
        content.update([0]);
        content.update(array.bytes);
    }
    first(&content.finalize())
}

impl fmt::Display for RecordRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for RecordRef {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for RecordRef {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl AsRef<str> for RecordRef {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use bson::{RawDocumentBuf, doc};

    use super::RecordRef;
    use crate::{bucket::id::Place, codec::raw::elements};

    const PLACE: Place = Place {
        time: 1_769_767_200,
        sequence: 1,
    };

    fn reference(place: Place, index: u32) -> RecordRef {
        let item = RawDocumentBuf::try_from(&doc! { "value": 7 }).unwrap_or_default();
        RecordRef::of([1, 2, 3, 4, 5, 6], place, index, &item, &[])
    }

    #[test]
    fn the_format_of_references_never_changes() {
        assert_eq!(
            reference(PLACE, 42).as_str(),
            "AQECAwQFBsCE5JcNASp10VDhM_BQRV8N"
        );
        let item = RawDocumentBuf::try_from(&doc! { "value": 7 }).unwrap_or_default();
        let held = RawDocumentBuf::try_from(&doc! { "state": [{ "k": "a", "v": 1 }] });
        let held = held.unwrap_or_default();
        let held: Vec<_> = elements(&held).map_while(Result::ok).collect();
        let with_held = RecordRef::of([1, 2, 3, 4, 5, 6], PLACE, 42, &item, &held);
        assert_eq!(with_held.as_str(), "AgECAwQFBsCE5JcNASowXZoEsq_d1VeK");
    }

    #[test]
    fn the_bucket_of_a_reference_is_its_place() {
        let bucket = |place, index| reference(place, index).bucket();
        assert_eq!(bucket(PLACE, 1), bucket(PLACE, 2_000));
        assert_ne!(bucket(PLACE, 1), bucket(Place::LAST, 1));
        assert_eq!(RecordRef::from("").bucket(), None);
    }
}
