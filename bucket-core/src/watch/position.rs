//! A place in a change stream, between two events of records.

use std::sync::Arc;

use bson::{RawDocument, RawDocumentBuf, Timestamp};

use crate::read::QUERY;

/// A place in a change stream, between two events of records.
#[derive(Debug, Clone, PartialEq)]
pub struct Position {
    /// The model and the key.
    pub(super) query: [u8; QUERY],
    /// Where the server goes on.
    pub(super) start: Start,
    /// How many events of records of the server's next event are already given.
    pub(super) given: u32,
    /// When the last event happened, in the server's time.
    pub(super) time: Timestamp,
}

/// Where the server goes on.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Start {
    /// After the event with this token of the server.
    After(Arc<RawDocumentBuf>),
    /// With the first event at this time or later.
    At(Timestamp),
}

impl Position {
    /// Where the server goes on.
    #[must_use]
    pub fn start(&self) -> &Start {
        &self.start
    }

    /// When the last event before it happened, in milliseconds since 1970.
    #[must_use]
    pub fn millis(&self) -> i64 {
        i64::from(self.time.time) * 1_000
    }

    /// When the event happened that was given last; the beginning of time if the place is not after an event.
    /// A change stream can start at a time without one, and the first event can have that time.
    pub(super) fn last_given(&self) -> Timestamp {
        match &self.start {
            Start::After(token) if !is_mark(token) => self.time,
            _ => Timestamp {
                time: 0,
                increment: 0,
            },
        }
    }

    /// The same place among events of records, which the server names so now.
    pub(super) fn rename(&mut self, token: &RawDocument) {
        self.start = Start::After(Arc::new(token.to_owned()));
        self.time = time_of(token).unwrap_or(self.time);
    }
}

/// Whether a token of the server is not that of an event: after the time come a version and a kind, both as numbers,
/// and the kind is 0.
fn is_mark(token: &RawDocument) -> bool {
    let data = token.get_str("_data").ok();
    let kind = data.and_then(|data| data.get(18..)?.strip_prefix("2B")?.get(2..4));
    kind == Some("29")
}

/// The time in a token of the server: after the byte 82, eight hexadecimal digits of seconds and eight that count
/// inside the second.
fn time_of(token: &RawDocument) -> Option<Timestamp> {
    let data = token.get_str("_data").ok()?.strip_prefix("82")?;
    let number = |digits: &str| u32::from_str_radix(digits, 16).ok();
    Some(Timestamp {
        time: number(data.get(..8)?)?,
        increment: number(data.get(8..16)?)?,
    })
}

#[cfg(test)]
mod tests {
    use bson::{Timestamp, rawdoc};

    #[test]
    fn the_time_of_a_token_is_read_from_its_digits() {
        let token = rawdoc! { "_data": "826B03F7FC000000182B022C0100296E5A1004" };
        let time = Timestamp {
            time: 1_795_422_204,
            increment: 24,
        };
        assert_eq!(super::time_of(&token), Some(time));
        for other in ["", "82", "826B03F7FC00", "82zzzzzzzz00000000", "00"] {
            assert_eq!(super::time_of(&rawdoc! { "_data": other }), None);
        }
    }
}
