//! What can be wrong with a file and with a row.

use std::{fmt, io, path::PathBuf};

use serde::Serialize;

use super::COLUMNS;

/// A row that was not taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct RowError {
    /// The number of its line, counted from 1.
    pub(crate) line: u64,
    /// The column to blame; none if it is the row as a whole.
    pub(crate) column: Option<&'static str>,
    /// What is wrong, as the end of a sentence that begins with the column or the row.
    pub(crate) reason: String,
}

/// A file that is of no use.
#[derive(Debug)]
pub(crate) enum FileError {
    /// It cannot be read.
    Unreadable { path: PathBuf, source: io::Error },
    /// It does not begin as it must.
    Header { path: PathBuf, error: HeaderError },
}

/// What is wrong with the first line.
#[derive(Debug)]
pub(crate) enum HeaderError {
    /// There is none.
    Empty,
    /// It is no line of CSV.
    NoText,
    /// It lacks columns.
    Missing(Vec<&'static str>),
    /// It has a column two times.
    Twice(&'static str),
    /// It cannot be read.
    Unreadable(io::Error),
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
            } => {
                write!(f, "`{}` cannot be read: {source}", path.display())
            }
            Self::Header { path, error } => {
                let expected = COLUMNS.join(",");
                write!(
                    f,
                    "`{}` {error}; expected the columns {expected}",
                    path.display()
                )
            }
        }
    }
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("is empty"),
            Self::NoText => f.write_str("does not begin with a line of column names"),
            Self::Missing(columns) if columns.len() == COLUMNS.len() => {
                f.write_str("does not begin with a line of column names")
            }
            Self::Missing(columns) => write!(f, "has no column `{}`", columns.join("`, `")),
            Self::Twice(column) => write!(f, "has the column `{column}` more than once"),
            Self::Unreadable(source) => source.fmt(f),
        }
    }
}
