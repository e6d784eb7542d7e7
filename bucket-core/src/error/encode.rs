//! A record that cannot be written.

use std::{fmt, sync::Arc};

/// A record cannot become an item of a bucket; nothing was sent.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum EncodeError {
    /// The record's serde implementation failed, or gave something that is no BSON document.
    Serialize(Arc<bson::error::Error>),
    /// The record is so large that a full bucket of such records would pass the limit of a
    /// document.
    TooLarge {
        /// The size of the encoded record, in bytes.
        bytes: usize,
        /// The largest size that this model takes, in bytes; see
        /// [`max_record_bytes`](crate::size::max_record_bytes).
        limit: usize,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Serialize(source) => write!(f, "the record cannot be encoded: {source}"),
            Self::TooLarge { bytes, limit } => write!(
                f,
                "the record takes {bytes} bytes, a bucket of this capacity takes records of at \
                 most {limit}"
            ),
        }
    }
}

impl std::error::Error for EncodeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Serialize(source) => Some(source.as_ref()),
            Self::TooLarge { .. } => None,
        }
    }
}
