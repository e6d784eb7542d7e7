//! The text of a place in a change stream.
//!
//! Format, version 1, in base64 with the URL-safe alphabet and without padding (RFC 4648, section 5):
//!
//! | bytes | content |
//! | --- | --- |
//! | 1 | the version, 1 |
//! | 6 | the model and the key, as in a cursor token without direction and bounds |
//! | 3 to 15 | how many events of the server's next event are given, and the seconds and the count of the last event's time; each a LEB128 integer |
//! | 1 | 0: then the seconds and the count of the time to start at; 1: then the server's token as BSON |
//! | any | that |
//! | 4 | the start of SHA-256 over everything before it |

use std::{fmt, str::FromStr, sync::Arc};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use bson::{RawDocumentBuf, Timestamp};
use serde::{Deserialize, Serialize};

use super::position::{Position, Start};
use crate::{
    codec::leb128::{pull, push},
    read::{CHECK, QUERY, check},
};

const VERSION: u8 = 1;
const AT: u8 = 0;
const AFTER: u8 = 1;

/// A place between two events of a watch, as text without spaces, about 250 characters long.
///
/// A watch after it goes on with the next event: nothing is left out, nothing is repeated, in the middle of a bucket
/// too. It belongs to the model, and to the key if the watch is one of a key. It contains the id of a bucket, and so
/// its key; it grants no access.
///
/// ```
/// use bucket_core::WatchToken;
///
/// let from_a_file = WatchToken::from("AbC-_");
/// assert_eq!(from_a_file.as_str(), "AbC-_");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WatchToken(String);

/// A [`WatchToken`] cannot be used here.
///
/// ```
/// use bucket_core::WatchTokenError;
///
/// assert!(WatchTokenError::Malformed.to_string().contains("not a token"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WatchTokenError {
    /// The text is not a token, or was changed on its way.
    Malformed,
    /// Another version of the library made the token.
    #[non_exhaustive]
    Version {
        /// Its version.
        version: u8,
    },
    /// The token belongs to a watch of another model or key.
    OtherQuery,
}

impl fmt::Display for WatchTokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => f.write_str("this is not a token of a watch, or only a part of one"),
            Self::Version { version } => write!(
                f,
                "the token of the watch has version {version}, which this release cannot read"
            ),
            Self::OtherQuery => {
                f.write_str("the token belongs to a watch of another model or of another key")
            }
        }
    }
}

impl std::error::Error for WatchTokenError {}

impl WatchToken {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The place, if the token belongs to this query.
    pub(super) fn position(&self, query: [u8; QUERY]) -> Result<Position, WatchTokenError> {
        const MALFORMED: WatchTokenError = WatchTokenError::Malformed;
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(&self.0);
        let bytes = bytes.map_err(|_| MALFORMED)?;
        let (body, found) = bytes.split_last_chunk::<CHECK>().ok_or(MALFORMED)?;
        if *found != check(body) {
            return Err(MALFORMED);
        }
        let (version, body) = body.split_first().ok_or(MALFORMED)?;
        if *version != VERSION {
            return Err(WatchTokenError::Version { version: *version });
        }
        let (of, mut rest) = body.split_first_chunk::<QUERY>().ok_or(MALFORMED)?;
        if *of != query {
            return Err(WatchTokenError::OtherQuery);
        }
        let given = pull_u32(&mut rest).ok_or(MALFORMED)?;
        let time = pull_time(&mut rest).ok_or(MALFORMED)?;
        let (kind, mut rest) = rest.split_first().ok_or(MALFORMED)?;
        let start = match *kind {
            AT => Start::At(pull_time(&mut rest).ok_or(MALFORMED)?),
            AFTER => {
                let token = RawDocumentBuf::from_bytes(rest.to_vec()).map_err(|_| MALFORMED)?;
                Start::After(Arc::new(token))
            }
            _ => return Err(MALFORMED),
        };
        Ok(Position {
            query,
            start,
            given,
            time,
        })
    }
}

impl Position {
    /// Its text.
    #[must_use]
    pub fn token(&self) -> WatchToken {
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&self.query);
        push(&mut bytes, self.given.into());
        push_time(&mut bytes, self.time);
        match &self.start {
            Start::At(time) => {
                bytes.push(AT);
                push_time(&mut bytes, *time);
            }
            Start::After(token) => {
                bytes.push(AFTER);
                bytes.extend_from_slice(token.as_bytes());
            }
        }
        let check = check(&bytes);
        bytes.extend_from_slice(&check);
        WatchToken(BASE64_URL_SAFE_NO_PAD.encode(bytes))
    }
}

fn push_time(bytes: &mut Vec<u8>, time: Timestamp) {
    push(bytes, time.time.into());
    push(bytes, time.increment.into());
}

fn pull_u32(bytes: &mut &[u8]) -> Option<u32> {
    u32::try_from(pull(bytes)?).ok()
}

fn pull_time(bytes: &mut &[u8]) -> Option<Timestamp> {
    Some(Timestamp {
        time: pull_u32(bytes)?,
        increment: pull_u32(bytes)?,
    })
}

impl fmt::Display for WatchToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for WatchToken {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::from(text))
    }
}

impl From<&str> for WatchToken {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for WatchToken {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&Self> for WatchToken {
    fn from(token: &Self) -> Self {
        token.clone()
    }
}

impl From<WatchToken> for String {
    fn from(token: WatchToken) -> Self {
        token.0
    }
}

impl AsRef<str> for WatchToken {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bson::{Timestamp, rawdoc};

    use super::{Position, Start, WatchToken, WatchTokenError};

    fn positions() -> Vec<Position> {
        let time = |time, increment| Timestamp { time, increment };
        let token = Arc::new(rawdoc! { "_data": "826B03F7FC000000182B" });
        let starts = [
            Start::At(time(0, 0)),
            Start::At(time(u32::MAX, u32::MAX)),
            Start::After(token),
        ];
        let with = |start: Start| {
            [0, 1, u32::MAX].map(|given| Position {
                query: *b"abcdef",
                start: start.clone(),
                given,
                time: time(1_795_422_204, 24),
            })
        };
        starts.into_iter().flat_map(with).collect()
    }

    #[test]
    fn a_token_is_the_place_that_it_was_made_from() {
        for position in positions() {
            assert_eq!(position.token().position(*b"abcdef"), Ok(position));
        }
    }

    #[test]
    fn a_token_of_another_query_or_a_changed_one_is_refused() {
        for position in positions() {
            let token = position.token();
            let other = token.position(*b"abcdeg");
            assert_eq!(other, Err(WatchTokenError::OtherQuery));
            for at in 0..token.as_str().len() {
                let mut text = token.as_str().to_owned();
                let with = if text.as_bytes()[at] == b'A' {
                    "B"
                } else {
                    "A"
                };
                text.replace_range(at..=at, with);
                let read = WatchToken::from(text.clone()).position(*b"abcdef");
                assert_eq!(read, Err(WatchTokenError::Malformed), "{text}");
                let cut = WatchToken::from(&token.as_str()[..at]);
                assert_eq!(cut.position(*b"abcdef"), Err(WatchTokenError::Malformed));
            }
        }
    }

    #[test]
    fn the_text_never_changes() {
        let position = positions().remove(0);
        assert_eq!(position.token().as_str(), "AWFiY2RlZgD874_YBhgAAABa2xJF");
    }
}
