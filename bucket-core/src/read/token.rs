//! Cursor tokens: a position among the records of a key, as text for clients.
//!
//! Format, version 1, in base64 with the URL-safe alphabet and without padding (RFC 4648, section
//! 5):
//!
//! | bytes | content |
//! | --- | --- |
//! | 1 | the version, 1 |
//! | 6 | the query of the token: the start of SHA-256 over collection, array, form, key fields and values, direction and bounds |
//! | 4 to 25 | the position: the bucket's time or number, its sequence, the record's offset from that time, its index; each a LEB128 integer, signed ones in zigzag |
//! | 4 | the start of SHA-256 over everything before it |
//!
//! A token contains the record's time, but no key and no other value of a record. The caller passes
//! the key again with each query.

use std::{borrow::Borrow, fmt, str::FromStr};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::order::Position;
use crate::{
    bucket::id::Place,
    codec::leb128::{pull, push, unzigzag, zigzag},
    model::spec::BucketSpec,
    time::range::TimeRange,
};

const VERSION: u8 = 1;
pub(crate) const QUERY: usize = 6;
pub(crate) const CHECK: usize = 4;
/// No token of this version is longer.
const LONGEST: usize = 64;

/// A position among the records of a key, from which a later read continues. The text is opaque,
/// safe in URLs, and about 30 characters long.
///
/// A token is bound to its query: the model, the key, the direction and the time bounds. The page
/// size may change. The token stays valid while buckets fill, are opened, get other limits or
/// expire. It names no key and grants no access; the service decides who may read.
///
/// ```
/// use bucket_core::CursorToken;
///
/// let from_a_request = CursorToken::from("AbC-_");
/// assert_eq!(from_a_request.as_str(), "AbC-_");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CursorToken(String);

/// A cursor token cannot be used here.
///
/// ```
/// use bucket_core::TokenError;
///
/// let error = TokenError::Version { version: 9 };
/// assert_eq!(error.to_string(), "the cursor token has version 9, which this release cannot read");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenError {
    /// The text is not a token, or was changed on its way.
    Malformed,
    /// Another version of the library made the token.
    Version {
        /// Its version.
        version: u8,
    },
    /// The token belongs to another model, key or direction, or to other time bounds.
    OtherQuery,
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => f.write_str("this is not a cursor token, or only a part of one"),
            Self::Version { version } => write!(
                f,
                "the cursor token has version {version}, which this release cannot read"
            ),
            Self::OtherQuery => f.write_str(
                "the cursor token belongs to another query: the model, key, direction and time bounds \
                 must be the same",
            ),
        }
    }
}

impl std::error::Error for TokenError {}

impl CursorToken {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn new(query: Query, position: &Position, millis: i64) -> Self {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&query.0);
        let Position { place, time, index } = position;
        let since = i128::from(*time) - i128::from(place.time) * i128::from(millis);
        push(&mut bytes, zigzag(place.time.into()));
        push(&mut bytes, place.sequence.into());
        push(&mut bytes, zigzag(since));
        push(&mut bytes, (*index).into());
        let check = check(&bytes);
        bytes.extend_from_slice(&check);
        Self(BASE64_URL_SAFE_NO_PAD.encode(bytes))
    }

    /// The position, if this token belongs to the query.
    pub(crate) fn position(&self, query: Query, millis: i64) -> Result<Position, TokenError> {
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
        if *version != VERSION {
            return Err(TokenError::Version { version: *version });
        }
        let (of, mut place) = body.split_first_chunk::<QUERY>().ok_or(MALFORMED)?;
        if *of != query.0 {
            return Err(TokenError::OtherQuery);
        }
        let mut next = || pull(&mut place).ok_or(MALFORMED);
        let time = i64::try_from(unzigzag(next()?)).map_err(|_| MALFORMED)?;
        let sequence = u64::try_from(next()?).map_err(|_| MALFORMED)?;
        let at = i128::from(time) * i128::from(millis) + unzigzag(next()?);
        let index = u32::try_from(next()?).map_err(|_| MALFORMED)?;
        Ok(Position {
            place: Place { time, sequence },
            time: i64::try_from(at).map_err(|_| MALFORMED)?,
            index,
        })
    }
}

/// The query that a token belongs to, as a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Query(pub(super) [u8; QUERY]);

impl Query {
    pub(crate) fn of(spec: &BucketSpec, key: &[u8], newest_first: bool, range: TimeRange) -> Self {
        let mut hash = Sha256::new();
        let mut text = |text: &str| {
            hash.update(text.as_bytes());
            hash.update([0]);
        };
        text(spec.collection());
        text(spec.items());
        text(spec.form().name());
        hash.update(key);
        hash.update([u8::from(newest_first)]);
        for bound in [range.start(), range.end()] {
            hash.update([u8::from(bound.is_some())]);
            let millis = bound.map_or(0, bson::DateTime::timestamp_millis);
            hash.update(millis.to_le_bytes());
        }
        Self(first(&hash.finalize()))
    }
}

/// What belongs to a model and a key, whatever the direction and the bounds.
pub(crate) fn query_of(spec: &BucketSpec, key: &[u8]) -> [u8; QUERY] {
    Query::of(spec, key, false, TimeRange::ALL).0
}

pub(crate) fn check(bytes: &[u8]) -> [u8; CHECK] {
    first(&Sha256::digest(bytes))
}

pub(super) fn first<const N: usize>(hash: &[u8]) -> [u8; N] {
    // A hash has 32 bytes.
    hash.first_chunk().copied().unwrap_or([0; N])
}

impl fmt::Display for CursorToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for CursorToken {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for CursorToken {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&String> for CursorToken {
    fn from(text: &String) -> Self {
        Self(text.clone())
    }
}

impl From<&Self> for CursorToken {
    fn from(token: &Self) -> Self {
        token.clone()
    }
}

impl From<CursorToken> for String {
    fn from(token: CursorToken) -> Self {
        token.0
    }
}

/// A value that a caller can pass as a cursor token: text, a [`CursorToken`], or an option of
/// either, where `None` is the beginning.
///
/// ```
/// use bucket_core::{CursorToken, read::IntoCursorToken};
///
/// assert_eq!("a".into_cursor_token(), Some(CursorToken::from("a")));
/// assert_eq!(None::<&str>.into_cursor_token(), None);
/// ```
pub trait IntoCursorToken {
    /// The token, if there is one.
    fn into_cursor_token(self) -> Option<CursorToken>;
}

macro_rules! tokens {
    ($($ty:ty),+) => {$(
        impl IntoCursorToken for $ty {
            fn into_cursor_token(self) -> Option<CursorToken> {
                Some(self.into())
            }
        }

        impl IntoCursorToken for Option<$ty> {
            fn into_cursor_token(self) -> Option<CursorToken> {
                self.map(Into::into)
            }
        }
    )+};
}

tokens!(&str, String, &String, CursorToken, &CursorToken);

impl FromStr for CursorToken {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::from(text))
    }
}

impl AsRef<str> for CursorToken {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for CursorToken {
    fn borrow(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests;
