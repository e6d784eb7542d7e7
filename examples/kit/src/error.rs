//! What ends a command early, and the message for it.

use std::{fmt, io};

use bucket_mongo::{ErrorKind, mongodb, testing};

use crate::{
    csv_input::{FileError, RowError},
    signal::Signal,
};

/// A reason for an exit code other than 0.
#[derive(Debug)]
pub enum Error {
    /// The input file cannot be used.
    File(FileError),
    /// A row of a built-in file is wrong: a mistake of the program's author.
    BuiltIn {
        /// What the rows are, such as `trades`.
        what: &'static str,
        /// What is wrong.
        error: RowError,
    },
    /// There is no server.
    Server(testing::Error),
    /// An operation on buckets failed.
    Buckets(bucket_mongo::Error),
    /// An operation of the driver failed.
    Driver(mongodb::error::Error),
    /// A record does not have the form that JSON needs.
    Json(serde_json::Error),
    /// The rest of the input file cannot be read.
    Input(io::Error),
    /// The output could not be written.
    Output(io::Error),
    /// A file could not be written.
    NotWritten {
        /// Its path.
        file: String,
        /// Why.
        source: io::Error,
    },
    /// Some records are not stored; the reasons were reported before.
    Incomplete {
        /// How many.
        failed: u64,
        /// Out of this number.
        read: u64,
    },
    /// A property that should hold does not: a mistake of the program, or of another writer to the
    /// database.
    Unexpected(String),
    /// A task ended unexpectedly.
    Task(tokio::task::JoinError),
    /// A signal interrupted the command.
    Interrupted(Signal),
    /// The database of a main job could not be dropped.
    NotRemoved {
        /// Its name.
        database: String,
        /// Why.
        reason: Box<Self>,
        /// Why the job was interrupted, if it was.
        cause: Option<String>,
    },
}

const FAILED: u8 = 1;
/// The exit code that `clap` uses.
const WRONG_USAGE: u8 = 2;

impl Error {
    /// Whether nobody reads the output any more.
    #[must_use]
    pub fn is_closed_pipe(&self) -> bool {
        let kind = match self {
            Self::Output(error) => Some(error.kind()),
            Self::Json(error) => error.io_error_kind(),
            _ => None,
        };
        kind == Some(io::ErrorKind::BrokenPipe)
    }

    /// The exit code of a command that ends with this error.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Interrupted(signal) => signal.exit_code(),
            Self::Buckets(error) => match error.kind() {
                // Option errors that only the library finds.
                ErrorKind::InvalidArgument { .. } | ErrorKind::InvalidToken(_) => WRONG_USAGE,
                _ => FAILED,
            },
            _ => FAILED,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::BuiltIn { what, error } => write!(f, "the built-in {what}: {error}"),
            // The driver's whole text would add labels and the server's raw reply.
            Self::Server(testing::Error::Uri { source }) => {
                write!(
                    f,
                    "the server of `MONGODB_URI` cannot be used: {}",
                    source.kind
                )
            }
            Self::Server(error) => error.fmt(f),
            Self::Buckets(error) => error.fmt(f),
            Self::Driver(error) => error.kind.fmt(f),
            Self::Json(error) => error.fmt(f),
            Self::Input(error) => write!(f, "the rest of the file cannot be read: {error}"),
            Self::Output(error) => write!(f, "the output cannot be written: {error}"),
            Self::NotWritten { file, source } => write!(f, "`{file}` cannot be written: {source}"),
            Self::Incomplete { failed, read } => {
                write!(f, "{failed} of {read} records are not stored")
            }
            Self::Unexpected(what) => f.write_str(what),
            Self::Task(error) => write!(f, "a task ended early: {error}"),
            Self::Interrupted(signal) => signal.fmt(f),
            Self::NotRemoved {
                database,
                reason,
                cause,
            } => {
                if let Some(cause) = cause {
                    write!(f, "{cause}; ")?;
                }
                write!(
                    f,
                    "the database `{database}` may still be there: it could not be dropped: {reason}"
                )
            }
        }
    }
}

macro_rules! from {
    ($($source:ty => $variant:ident),+ $(,)?) => {$(
        impl From<$source> for Error {
            fn from(source: $source) -> Self {
                Self::$variant(source)
            }
        }
    )+};
}

from! {
    FileError => File,
    testing::Error => Server,
    bucket_mongo::Error => Buckets,
    mongodb::error::Error => Driver,
    serde_json::Error => Json,
    io::Error => Output,
    tokio::task::JoinError => Task,
}
