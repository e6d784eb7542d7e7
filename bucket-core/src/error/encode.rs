//! A record that cannot be written.

use std::{fmt, sync::Arc};

use super::AttributeError;

/// A record cannot become an item of a bucket. Nothing was sent.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum EncodeError {
    /// The record's serde implementation failed, or its output is not a BSON document.
    Serialize(Arc<bson::error::Error>),
    /// An attribute has another type than its field declares, or a flattened map repeats an
    /// attribute.
    Attribute(AttributeError),
    /// One document of the record has a name twice, for example because a flattened map repeats a
    /// field's name. The bucket could not be read back.
    RepeatedName {
        /// The name as it would be stored.
        name: String,
    },
    /// Documents and arrays are nested so deep that the server would refuse the whole command.
    TooDeep {
        /// The most levels that the server accepts. The record itself is the first level.
        limit: usize,
    },
    /// The record's own type could not read the stored form. Two kinds of records cause this: maps
    /// that look like MongoDB's extended JSON but are not (`{"$oid": "x"}` as a `Bson`), and
    /// flattened maps that bring the name of an omitted field with a value of another type.
    Unreadable(Arc<bson::error::Error>),
    /// The record is too large: a full bucket of such records would exceed the document limit.
    TooLarge {
        /// The size of the encoded record, in bytes: with its key, if that is the larger part.
        bytes: usize,
        /// The largest size that this model accepts, in bytes; see
        /// [`max_record_bytes`](crate::size::max_record_bytes). With the key if `bytes` includes it.
        limit: usize,
    },
    /// An aggregated value is NaN or infinite, or so large that a full bucket of such values would
    /// sum to infinity.
    NonFinite {
        /// The field of the record.
        field: &'static str,
        /// The value.
        value: f64,
    },
    /// An integer is so large that a full bucket of such values would overflow the 64-bit sum.
    Overflow {
        /// The field of the record.
        field: &'static str,
        /// The value.
        value: i64,
        /// The largest magnitude that this model can sum.
        limit: i64,
    },
    /// The record is older than the open bucket of its key, and the model refuses such records.
    Late {
        /// The record's time.
        time: bson::DateTime,
        /// The start of the newest bucket.
        start: bson::DateTime,
    },
    /// The record is older than the model's retention. Storing it would bring back a removed
    /// bucket.
    Expired {
        /// The record's time.
        time: bson::DateTime,
        /// The model no longer keeps records before this time.
        before: bson::DateTime,
    },
    /// The record id is missing, or has a type without exact equality.
    RecordId {
        /// The stored name of the record id.
        field: &'static str,
        /// What is wrong with it.
        message: String,
    },
    /// The record id is too long: every statement and index entry of the record repeats it.
    LongRecordId {
        /// The stored name of the record id.
        field: &'static str,
        /// The stored size of the id, in bytes.
        bytes: usize,
        /// The largest allowed size, in bytes.
        limit: usize,
    },
    /// The limits for the record's key are invalid.
    Limits {
        /// What is wrong with them.
        message: String,
    },
    /// One of the variants that hold a value or a time of the record, without it: only
    /// [`redacted`](Self::redacted) makes this one.
    Redacted {
        /// What is wrong with the record.
        reason: String,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Serialize(source) => write!(f, "the record cannot be encoded: {source}"),
            Self::Attribute(source) => write!(f, "the record cannot be encoded: {source}"),
            Self::RepeatedName { name } => write!(
                f,
                "the record has the name `{}` twice in one document and could not be read back; a \
                 flattened map may repeat the name of a field",
                name.escape_debug()
            ),
            Self::TooDeep { limit } => write!(
                f,
                "the record nests documents and arrays more than {limit} levels deep, which the \
                 server does not store"
            ),
            Self::Unreadable(source) => {
                write!(
                    f,
                    "the record could not be read back from its stored form: {source}"
                )
            }
            Self::TooLarge { bytes, limit } => write!(
                f,
                "the record takes {bytes} bytes, but a bucket of this capacity allows at most \
                 {limit} per record"
            ),
            Self::NonFinite { field, value } => write!(
                f,
                "`{field}` is {value:e}, which aggregates cannot include; `non_finite = \"skip\"` stores \
                 such records and leaves them out of the aggregates"
            ),
            Self::Overflow {
                field,
                value,
                limit,
            } => write!(
                f,
                "`{field}` is {value}, but sums in a bucket of this capacity allow at most {limit} per record"
            ),
            Self::Late { time, start } => write!(
                f,
                "the record's time is {time}, the newest bucket of its key starts at {start}, and \
                 the model refuses late records"
            ),
            Self::Expired { time, before } => write!(
                f,
                "the record's time is {time}, but the model keeps no records from before {before}"
            ),
            Self::RecordId { field, message } => write!(f, "the record id `{field}` {message}"),
            Self::LongRecordId {
                field,
                bytes,
                limit,
            } => write!(
                f,
                "the record id `{field}` takes {bytes} bytes, but may take at most {limit}"
            ),
            Self::Redacted { reason } => f.write_str(reason),
            Self::Limits { message } => write!(f, "the limits of the key are invalid: {message}"),
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
