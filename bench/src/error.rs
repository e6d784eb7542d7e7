//! What ends a run early. A benchmark must not lose records: a wrong count is an error.

use std::{fmt, io, path::PathBuf};

use bucket_core::EncodeError;
use bucket_mongo::{bson, mongodb};

/// A reason for an exit code other than 0.
#[derive(Debug)]
pub(crate) enum Error {
    /// The server, the driver, the library, the output.
    Kit(example_kit::Error),
    /// A collection does not hold what was stored.
    WrongCount {
        /// The collection.
        collection: String,
        /// The number of records that were acknowledged.
        expected: u64,
        /// The number of records that are stored.
        found: u64,
    },
    /// A contestant has read something other than what was stored.
    WrongRead(String),
    /// A record was refused before it was sent.
    Encode(EncodeError),
    /// A document cannot be encoded.
    Bson(bson::error::Error),
    /// A batch has records left and no statement for them.
    Stuck,
    /// An ingestor has accepted more than its setting allows.
    TooMuchBuffered {
        /// The setting, in bytes.
        limit: usize,
        /// What was accepted and not settled.
        most: usize,
    },
    /// Buckets that take no more records were not sealed: what the call reports.
    NotSealed(String),
    /// A process that should have printed a figure did not.
    Child,
    /// A file cannot be read or written.
    File(&'static str, PathBuf, io::Error),
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Whether nobody reads the output any more.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Kit(error) if error.is_closed_pipe())
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Kit(error) => error.exit_code(),
            _ => 1,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kit(error) => error.fmt(f),
            Self::WrongCount {
                collection,
                expected,
                found,
            } => write!(
                f,
                "`{collection}` holds {found} records, {expected} were acknowledged"
            ),
            Self::WrongRead(contestant) => {
                write!(
                    f,
                    "`{contestant}` has read something other than what was stored"
                )
            }
            Self::Encode(error) => error.fmt(f),
            Self::Bson(error) => error.fmt(f),
            Self::Stuck => f.write_str("a batch has records left and no statement for them"),
            Self::NotSealed(report) => write!(f, "not all full buckets were sealed: {report}"),
            Self::TooMuchBuffered { limit, most } => {
                write!(f, "{most} bytes are buffered, the limit is {limit}")
            }
            Self::Child => f.write_str("a process that should have printed a figure did not"),
            Self::File(done, path, error) => {
                write!(f, "{} cannot be {done}: {error}", path.display())
            }
        }
    }
}

impl From<EncodeError> for Error {
    fn from(source: EncodeError) -> Self {
        Self::Encode(source)
    }
}

impl From<bson::error::Error> for Error {
    fn from(source: bson::error::Error) -> Self {
        Self::Bson(source)
    }
}

macro_rules! from {
    ($($source:ty),+ $(,)?) => {$(
        impl From<$source> for Error {
            fn from(source: $source) -> Self {
                Self::Kit(source.into())
            }
        }
    )+};
}

from! {
    example_kit::Error,
    bucket_mongo::Error,
    mongodb::error::Error,
    serde_json::Error,
    io::Error,
    bucket_mongo::testing::Error,
    tokio::task::JoinError,
}
