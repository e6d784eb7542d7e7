//! A record that cannot be written.

use std::{fmt, sync::Arc};

use super::AttributeError;

/// A record cannot become an item of a bucket; nothing was sent.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum EncodeError {
    /// The record's serde implementation failed, or gave something that is no BSON document.
    Serialize(Arc<bson::error::Error>),
    /// An attribute is of another type than its field says, or a flattened map brings one twice.
    Attribute(AttributeError),
    /// One of the record's documents has a name twice: a flattened map may bring that of another field. The
    /// bucket could not be read with it.
    RepeatedName {
        /// The name as it would be stored.
        name: String,
    },
    /// Documents and arrays stand so deep in each other that the server would refuse the whole command.
    TooDeep {
        /// The most levels that the server takes, the record itself being the first one.
        limit: usize,
    },
    /// The record's own type could not read what would be stored. Such are maps that read as MongoDB's
    /// extended JSON and are none (`{"$oid": "x"}` as a `Bson`), and flattened maps that bring the name
    /// of a field which is left out, with a value of another type.
    Unreadable(Arc<bson::error::Error>),
    /// The record is so large that a full bucket of such records would pass the limit of a
    /// document.
    TooLarge {
        /// The size of the encoded record, in bytes.
        bytes: usize,
        /// The largest size that this model takes, in bytes; see
        /// [`max_record_bytes`](crate::size::max_record_bytes).
        limit: usize,
    },
    /// A value that aggregates are kept of is NaN, infinite, or so large that the sum over a full
    /// bucket of such values would be.
    NonFinite {
        /// The field of the record.
        field: &'static str,
        /// The value.
        value: f64,
    },
    /// An integer is so large that the sum over a full bucket of such values would pass 64 bits.
    Overflow {
        /// The field of the record.
        field: &'static str,
        /// The value.
        value: i64,
        /// The largest magnitude that this model sums.
        limit: i64,
    },
    /// The record is older than the open bucket of its key, and the model refuses such records.
    Late {
        /// The record's time.
        time: bson::DateTime,
        /// The start of the newest bucket.
        start: bson::DateTime,
    },
    /// The record is older than the model keeps records; stored, it would bring back a bucket that
    /// was removed.
    Expired {
        /// The record's time.
        time: bson::DateTime,
        /// Records before this time are not kept any more.
        before: bson::DateTime,
    },
    /// The record id is missing, or not of a kind that has an exact equality.
    RecordId {
        /// The stored name of the record id.
        field: &'static str,
        /// What is wrong with it.
        message: String,
    },
    /// The limits that were given for the record's key make no sense.
    Limits {
        /// What is wrong with them.
        message: String,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Serialize(source) => write!(f, "the record cannot be encoded: {source}"),
            Self::Attribute(source) => write!(f, "the record cannot be encoded: {source}"),
            Self::RepeatedName { name } => write!(
                f,
                "the record has the name `{}` twice in one document, which could not be read back; a \
                 flattened map may bring the name of another field",
                name.escape_debug()
            ),
            Self::TooDeep { limit } => write!(
                f,
                "the record has more than {limit} levels of documents and arrays, which the server \
                 does not store"
            ),
            Self::Unreadable(source) => {
                write!(
                    f,
                    "the record could not be read back once it is stored: {source}"
                )
            }
            Self::TooLarge { bytes, limit } => write!(
                f,
                "the record takes {bytes} bytes, a bucket of this capacity takes records of at \
                 most {limit}"
            ),
            Self::NonFinite { field, value } => write!(
                f,
                "`{field}` is {value:e}, which no aggregate can take in; with `non_finite = \"skip\"` \
                 the record would be stored and left out of them"
            ),
            Self::Overflow {
                field,
                value,
                limit,
            } => write!(
                f,
                "`{field}` is {value}, sums in a bucket of this capacity take at most {limit}"
            ),
            Self::Late { time, start } => write!(
                f,
                "the record is of {time}, the newest bucket of its key begins at {start}, and the \
                 model refuses late records"
            ),
            Self::Expired { time, before } => write!(
                f,
                "the record is of {time}, and the model keeps none from before {before}"
            ),
            Self::RecordId { field, message } => write!(f, "the record id `{field}` {message}"),
            Self::Limits { message } => write!(f, "the limits of the key: {message}"),
        }
    }
}

impl std::error::Error for EncodeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Serialize(source) | Self::Unreadable(source) => Some(source.as_ref()),
            Self::Attribute(source) => Some(source),
            _ => None,
        }
    }
}
