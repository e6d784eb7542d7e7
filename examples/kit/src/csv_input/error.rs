//! The errors of a file and of a row.

use std::{fmt, io, path::PathBuf};

use serde::Serialize;

use super::FromRow;

/// A row that was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RowError {
    /// The number of its line, counted from 1.
    pub line: u64,
    /// The wrong column; none if the row itself is wrong.
    pub column: Option<&'static str>,
    /// What is wrong, as the end of a sentence that begins with the column or the row.
    pub reason: String,
}

/// A file that cannot be loaded.
#[derive(Debug)]
pub enum FileError {
    /// It cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Its first line is wrong.
    Header {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: HeaderError,
        /// The columns that it must have.
        expected: String,
    },
}

/// What is wrong with the first line.
#[derive(Debug)]
pub enum HeaderError {
    /// It is missing.
    Empty,
    /// It is not a line of column names.
    NoNames,
    /// It lacks columns.
    Missing(Vec<&'static str>),
    /// It has a column twice.
    Twice(&'static str),
    /// It cannot be read.
    Unreadable(io::Error),
}

impl FileError {
    /// The file does not begin with the columns of `T`.
    #[must_use]
    pub fn header<T: FromRow>(path: PathBuf, error: HeaderError) -> Self {
        let mut expected = T::COLUMNS.join(",");
        if !T::OPTIONAL.is_empty() {
            expected = format!("{expected}, if need be {}", T::OPTIONAL.join(","));
        }
        Self::Header {
            path,
            error,
            expected,
        }
    }
}

impl From<io::Error> for HeaderError {
    fn from(source: io::Error) -> Self {
        Self::Unreadable(source)
    }
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            line,
            column,
            reason,
        } = self;
        match column {
            Some(column) => write!(f, "line {line}, column {column}: {reason}"),
            None => write!(f, "line {line}: {reason}"),
        }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { path, source }
            | Self::Header {
                path,
                error: HeaderError::Unreadable(source),
                ..
            } => {
                write!(f, "`{}` cannot be read: {source}", path.display())
            }
            Self::Header {
                path,
                error,
                expected,
            } => write!(
                f,
                "`{}` {error}; expected the columns {expected}",
                path.display()
            ),
        }
    }
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("is empty"),
            Self::NoNames => f.write_str("does not begin with a line of column names"),
            Self::Missing(columns) => write!(f, "has no column `{}`", columns.join("`, `")),
            Self::Twice(column) => write!(f, "has the column `{column}` more than once"),
            Self::Unreadable(source) => source.fmt(f),
        }
    }
}
