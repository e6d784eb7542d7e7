//! What ends a command early, and the message for it.

use std::{fmt, io};

use bucket_mongo::{ErrorKind, mongodb};

use crate::{
    exit::{FAILED, USAGE},
    words::of_program,
};

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
    /// The plan of a change cannot be written, and nothing was changed.
    Unplanned(io::Error),
    /// The report of a change cannot be written.
    Unreported {
        /// What was changed.
        done: String,
        /// Why nobody reads it.
        source: io::Error,
    },
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

    /// The same error before the first change: whoever reads a plan and closes the output has not seen it done.
    pub(crate) fn before_change(self) -> Self {
        match self {
            Self::Output(error) => Self::Unplanned(error),
            other => other,
        }
    }

    /// The same error after the last change. A reader that closed the output wanted no report.
    pub(crate) fn after_change(self, done: impl FnOnce() -> String) -> Result<(), Self> {
        match self {
            closed if closed.is_closed_pipe() => Ok(()),
            Self::Output(source) => Err(Self::Unreported {
                done: done(),
                source,
            }),
            other => Err(other),
        }
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

    /// Whether another command on the same server would fail by the same reason.
    pub(crate) fn is_of_server(&self) -> bool {
        self.advice() == Some(REACH)
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
            // Nothing is wrong with such a bucket; the text says where its items are.
            ErrorKind::Damaged(_) if error.is_archived() => None,
            ErrorKind::Damaged(_) if error.is_partial() => None,
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
            Self::Buckets(error) => f.write_str(&of_program(&error.to_string())),
            // The driver's whole text would add labels and the server's raw reply.
            Self::Driver { doing, source } => write!(f, "{doing}: {}", source.kind),
            Self::Output(error) => write!(f, "the output cannot be written: {error}"),
            Self::Unplanned(error) => write!(
                f,
                "the plan cannot be written, and nothing was changed: {error}; run the same command again with an output that can \
                 be written"
            ),
            Self::Unreported { done, source } => {
                write!(
                    f,
                    "the report cannot be written: {source}; what it says: {done}"
                )
            }
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
