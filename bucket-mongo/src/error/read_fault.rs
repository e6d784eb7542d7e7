//! Why a command of a read gave nothing.

use bucket_core::index::Drift;
use mongodb::error::Error;

/// Why a command of a read gave nothing.
#[derive(Debug)]
pub(crate) enum ReadFault {
    /// What the driver says.
    Driver(Error),
    /// There was no reply in the time that the call has.
    Late,
    /// The server stopped working on it at the time limit that it was sent with.
    Stopped(Error),
    /// The index is missing because the collection is not one that buckets are stored in.
    Drift(Box<Drift>),
    /// The items of an archived bucket were changed or removed before the read came to them.
    Overtaken(&'static str),
    /// What an object store says.
    #[cfg(feature = "object-store")]
    Files(Box<crate::ErrorKind>),
}

impl ReadFault {
    /// An error of the driver, for callers that know no other.
    pub(crate) fn into_driver(self) -> Error {
        match self {
            Self::Driver(error) | Self::Stopped(error) => error,
            Self::Late => Error::custom("no reply came before the deadline"),
            Self::Drift(drift) => Error::custom(drift.to_string()),
            Self::Overtaken(message) => Error::custom(message),
            #[cfg(feature = "object-store")]
            Self::Files(kind) => Error::custom(kind.to_string()),
        }
    }
}

impl From<Error> for ReadFault {
    fn from(error: Error) -> Self {
        Self::Driver(error)
    }
}
