//! Records from CSV: rows one by one, in bounded memory. Each wrong row is reported with its line,
//! column and reason.
//!
//! Rules: a row is one line, so a quote that is never closed costs one row and not the rest of the
//! file. A byte order mark, CRLF and empty lines are fine; blanks around a value do not count.

mod error;
pub mod field;
mod lines;

use std::{io::BufRead, marker::PhantomData};

use csv::{ByteRecord, ReaderBuilder, Terminator};

pub use self::error::{FileError, HeaderError, RowError};
use self::lines::Lines;
use crate::error::Error;

/// A record made from a row.
pub trait FromRow: Sized {
    /// The columns that a file must have.
    const COLUMNS: &'static [&'static str];
    /// The columns that it may have; other columns are not read.
    const OPTIONAL: &'static [&'static str] = &[];

    /// The record, or what is wrong with the row.
    fn from_row(row: &Values<'_>) -> Result<Self, RowError>;
}

/// The rows of a file, after its header.
#[derive(Debug)]
pub struct Rows<R, T> {
    lines: Lines<R>,
    header: Header,
    /// The first line that is read, counted from 1.
    first: u64,
    record: PhantomData<fn() -> T>,
}

/// A good row.
#[derive(Debug, Clone, PartialEq)]
pub struct Row<T> {
    /// The number of its line, counted from 1.
    pub line: u64,
    /// Its record.
    pub record: T,
}

/// The positions of the columns.
#[derive(Debug)]
struct Header {
    names: Vec<String>,
}

impl<R: BufRead, T: FromRow> Rows<R, T> {
    /// Reads the header.
    pub fn new(input: R) -> Result<Self, HeaderError> {
        let mut lines = Lines::new(input);
        if !lines.advance()? {
            return Err(HeaderError::Empty);
        }
        let names = lines.text().and_then(split).ok_or(HeaderError::NoNames)?;
        Ok(Self {
            lines,
            header: Header::new::<T>(&names)?,
            first: 1,
            record: PhantomData,
        })
    }

    /// Skips the rows before this line, counted from 1.
    #[must_use]
    pub fn starting_at(mut self, line: u64) -> Self {
        self.first = line;
        self
    }

    /// The next row; the outer error concerns the file, the inner one the row.
    pub fn next_row(&mut self) -> std::io::Result<Option<Result<Row<T>, RowError>>> {
        while self.lines.advance()? {
            let line = self.lines.number();
            if line >= self.first {
                return Ok(Some(self.row(line)));
            }
        }
        Ok(None)
    }

    fn row(&self, line: u64) -> Result<Row<T>, RowError> {
        self.record(line).map(|record| Row { line, record })
    }

    fn record(&self, line: u64) -> Result<T, RowError> {
        let wrong = |reason: String| RowError {
            line,
            column: None,
            reason,
        };
        let Some(text) = self.lines.text() else {
            return Err(wrong("is longer than 64 KiB".to_owned()));
        };
        let Some(row) = split(text) else {
            let reason = "has a quote that is not closed on the line";
            return Err(wrong(reason.to_owned()));
        };
        let columns = self.header.names.len();
        if row.len() > columns {
            let reason = format!("has {} values for {columns} columns", row.len());
            return Err(wrong(reason));
        }
        T::from_row(&Values {
            header: &self.header,
            line,
            row: &row,
        })
    }

    /// The number of the line after the last one that was read.
    pub fn next_line(&self) -> u64 {
        self.lines.number() + 1
    }

    /// The number of bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.lines.bytes()
    }
}

impl Header {
    fn new<T: FromRow>(fields: &ByteRecord) -> Result<Self, HeaderError> {
        let text = |field: &[u8]| String::from_utf8_lossy(field).trim().to_owned();
        let names: Vec<String> = fields.iter().map(text).collect();
        let times = |column: &str| names.iter().filter(|name| *name == column).count();
        let mut known = T::COLUMNS.iter().chain(T::OPTIONAL).copied();
        if let Some(column) = known.find(|column| times(column) > 1) {
            return Err(HeaderError::Twice(column));
        }
        let required = T::COLUMNS.iter().copied();
        let missing: Vec<_> = required.filter(|column| times(column) == 0).collect();
        if missing.is_empty() {
            Ok(Self { names })
        } else if missing.len() == T::COLUMNS.len() {
            Err(HeaderError::NoNames)
        } else {
            Err(HeaderError::Missing(missing))
        }
    }
}

/// The values of one row.
#[derive(Debug)]
pub struct Values<'a> {
    header: &'a Header,
    line: u64,
    row: &'a ByteRecord,
}

impl Values<'_> {
    /// The value of a column.
    pub fn read<T>(
        &self,
        column: &'static str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, RowError> {
        let value = self.bytes(column).ok_or_else(|| "is missing".to_owned());
        self.parse(column, value, parse)
    }

    /// The value of a column that may be absent or empty.
    pub fn read_optional<T>(
        &self,
        column: &'static str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, RowError> {
        match self.bytes(column) {
            Some(value) if !value.trim_ascii().is_empty() => {
                self.parse(column, Ok(value), parse).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn parse<T>(
        &self,
        column: &'static str,
        value: Result<&[u8], String>,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, RowError> {
        let text = value
            .and_then(|bytes| std::str::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned()));
        let value = text.and_then(|text| parse(text.trim()));
        value.map_err(|reason| RowError {
            line: self.line,
            column: Some(column),
            reason,
        })
    }

    fn bytes(&self, column: &str) -> Option<&[u8]> {
        let index = self.header.names.iter().position(|name| name == column);
        self.row.get(index?)
    }
}

/// The values of a line; none if a quote is still open at its end.
fn split(line: &[u8]) -> Option<ByteRecord> {
    // Setting up a parser takes many times as long as reading a line.
    if !line.contains(&b'"') {
        return Some(line.split(|byte| *byte == b',').collect());
    }
    // A line with a dot follows: if the parser does not reach it, a quote is still open.
    let mut parser = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .terminator(Terminator::Any(b'\n'))
        .buffer_capacity(line.len() + 2)
        .from_reader(std::io::Read::chain(line, b"\n.".as_slice()));
    let (mut fields, mut dot) = (ByteRecord::new(), ByteRecord::new());
    let read =
        parser.read_byte_record(&mut fields).ok()? && parser.read_byte_record(&mut dot).ok()?;
    (read && dot == *[b"."].as_slice()).then_some(fields)
}

/// The rows of a built-in file; every one of them must be good.
pub fn built_in<T: FromRow>(what: &'static str, file: &[u8]) -> Result<Vec<Row<T>>, Error> {
    let unreadable = |error| FileError::header::<T>(format!("the built-in {what}").into(), error);
    let mut rows = Rows::new(file).map_err(unreadable)?;
    let mut good = Vec::new();
    while let Some(row) = rows.next_row().map_err(Error::Input)? {
        good.push(row.map_err(|error| Error::BuiltIn { what, error })?);
    }
    Ok(good)
}
