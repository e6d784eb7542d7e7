//! What ends an export or a stream of batches.

use std::{error, fmt, io};

use arrow_schema::ArrowError;
use bucket_mongo::{bson::DateTime, mongodb};

/// Why records did not become batches or files.
///
/// ```
/// use bucket_arrow::Error;
///
/// /// A record that the columns have no place for.
/// fn field(error: &Error) -> Option<&str> {
///     match error {
///         // Fields may be added: `..`.
///         Error::Record { field, .. } => Some(field),
///         _ => None,
///     }
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// An argument is invalid; nothing was read.
    #[non_exhaustive]
    InvalidArgument {
        /// What is wrong with it.
        message: String,
    },
    /// No columns can be made from the record type.
    #[non_exhaustive]
    Schema {
        /// The name of the record type.
        record: &'static str,
        /// The field that is the cause; empty for the whole record.
        field: String,
        /// What is wrong with it, and what to do.
        message: String,
    },
    /// A record does not fit the columns. No column has a part of it.
    #[non_exhaustive]
    Record {
        /// Its key, as text.
        key: String,
        /// Its time.
        time: DateTime,
        /// The field that does not fit.
        field: String,
        /// Why it does not, and what to do.
        message: String,
    },
    /// A read of the buckets failed.
    Buckets(Box<bucket_mongo::Error>),
    /// A command that looks at buckets without their records failed.
    #[non_exhaustive]
    Driver {
        /// What it was sent for.
        doing: &'static str,
        /// Why it failed.
        source: Box<mongodb::error::Error>,
    },
    /// A batch cannot be made or written.
    Arrow(ArrowError),
    /// An output cannot be read or written.
    #[non_exhaustive]
    Io {
        /// The path, in the folder or the store.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// The folder or the store has a part of another key, of another export, or of a longer time at the path of a part. That
    /// one is left as it is.
    #[non_exhaustive]
    Taken {
        /// The path.
        path: String,
        /// What is there, and what to do.
        message: String,
    },
}

impl Error {
    /// The error for an argument.
    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Self::InvalidArgument {
            message: message.into(),
        }
    }

    /// The driver's error.
    pub(crate) fn driver(doing: &'static str, source: mongodb::error::Error) -> Self {
        Self::Driver {
            doing,
            source: Box::new(source),
        }
    }

    /// The error at a path of an output.
    pub(crate) fn at(path: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        |source| Self::Io {
            path: path.into(),
            source,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidArgument { message } => f.write_str(message),
            Self::Schema {
                record,
                field,
                message,
            } if field.is_empty() => write!(f, "`{record}` has no columns: {message}"),
            Self::Schema {
                record,
                field,
                message,
            } => {
                write!(
                    f,
                    "the field `{field}` of `{record}` has no column: {message}"
                )
            }
            Self::Record {
                key,
                time,
                field,
                message,
            } => write!(
                f,
                "the record of {key} at {} does not fit its columns: `{field}` {message}",
                text_of(*time),
            ),
            Self::Buckets(error) => error.fmt(f),
            // The driver's whole text would add labels and the server's raw reply.
            Self::Driver { doing, source } => write!(f, "{doing}: {}", source.kind),
            Self::Arrow(error) => write!(f, "a batch cannot be written: {error}"),
            Self::Io { path, source } => write!(f, "`{path}` cannot be read or written: {source}"),
            Self::Taken { path, message } => write!(f, "`{path}` cannot be written: {message}"),
        }
    }
}

/// A date as RFC 3339, or its milliseconds if it has no such form.
fn text_of(date: DateTime) -> String {
    let text = date.try_to_rfc3339_string();
    text.unwrap_or_else(|_| format!("{} ms", date.timestamp_millis()))
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Buckets(error) => Some(error.as_ref()),
            Self::Driver { source, .. } => Some(source.as_ref()),
            Self::Arrow(error) => Some(error),
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<bucket_mongo::Error> for Error {
    fn from(error: bucket_mongo::Error) -> Self {
        Self::Buckets(Box::new(error))
    }
}

impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Self {
        Self::Arrow(error)
    }
}

/// The result of this crate.
///
/// ```
/// fn columns<T: bucket_mongo::Bucketed>() -> bucket_arrow::Result<usize> {
///     let layout = bucket_arrow::Layout::<T>::new()?;
///     Ok(layout.schema().fields().len())
/// }
/// ```
pub type Result<T, E = Error> = std::result::Result<T, E>;
