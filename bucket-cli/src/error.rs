//! What ends a command early, and the message for it.

use std::{fmt, io};

use bucket_mongo::{ErrorKind, mongodb};

use crate::exit::{FAILED, USAGE};

/// A reason for the exit codes 1 and 2.
#[derive(Debug)]
pub(crate) enum Error {
    /// The command line is wrong in a way that only the model or the library knows.
    Usage(String),
    /// What was asked for is not there, or cannot be done.
    Failed(String),
    /// An operation on buckets failed.
    Buckets(bucket_mongo::Error),
    /// An operation of the driver failed.
    Driver {
        /// What was being done, such as `connecting`.
        doing: &'static str,
        /// Why it failed.
        source: mongodb::error::Error,
    },
    /// The output cannot be written.
    Output(io::Error),
}

impl Error {
    /// An error of the driver, with what was being done.
    pub(crate) fn driver(doing: &'static str) -> impl Fn(mongodb::error::Error) -> Self {
        move |source| Self::Driver { doing, source }
    }

    /// Whether nobody reads the output any more.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => USAGE,
            Self::Buckets(error) => match error.kind() {
                ErrorKind::InvalidArgument { .. } | ErrorKind::InvalidToken(_) => USAGE,
                _ => FAILED,
            },
            _ => FAILED,
        }
    }

    /// What to do about it, if that is known.
    pub(crate) fn advice(&self) -> Option<&'static str> {
        let error = match self {
            Self::Driver { source, .. } => {
                let is_lost = matches!(
                    *source.kind,
                    mongodb::error::ErrorKind::ServerSelection { .. }
                        | mongodb::error::ErrorKind::Io(_)
                );
                return is_lost.then_some(REACH);
            }
            Self::Buckets(error) => error,
            _ => return None,
        };
        match error.kind() {
            ErrorKind::Unreachable { .. } | ErrorKind::TimedOut { .. } => Some(REACH),
            ErrorKind::MissingIndex { .. } => Some("run `ensure` first"),
            ErrorKind::Damaged(_) => Some("`verify` says what is wrong, and `repair` mends it"),
            ErrorKind::Unauthorized { .. } => {
                Some("the chapter on operations lists the privileges of each task")
            }
            ErrorKind::OutcomeUnknown { .. } => {
                Some("run the same command again: it does only what is left")
            }
            _ => None,
        }
    }
}

const REACH: &str = "check that the server of MONGODB_URI or --uri runs and can be reached from here, then run the same command again";

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message) | Self::Failed(message) => f.write_str(message),
            Self::Buckets(error) => error.fmt(f),
            // The driver's whole text would add labels and the server's raw reply.
            Self::Driver { doing, source } => write!(f, "{doing}: {}", source.kind),
            Self::Output(error) => write!(f, "the output cannot be written: {error}"),
        }
    }
}

impl From<bucket_mongo::Error> for Error {
    fn from(error: bucket_mongo::Error) -> Self {
        Self::Buckets(error)
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
