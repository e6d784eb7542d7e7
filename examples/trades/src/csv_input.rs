//! Trades from CSV: rows one by one, in bounded memory, each wrong one with its line, column and
//! reason.
//!
//! Rules: a row is one line, so a quote that is never closed costs one row and not the rest of the
//! file. A byte order mark, CRLF and empty lines are fine; blanks around a value do not count.

mod error;
mod field;
mod lines;

use std::io::BufRead;

use csv::{ByteRecord, ReaderBuilder, Terminator};

pub(crate) use self::error::{FileError, HeaderError, RowError};
use self::lines::Lines;
use crate::{error::Error, model::Trade};

/// The columns that a file must have.
pub(crate) const COLUMNS: [&str; 6] = ["customer_id", "ticker", "type", "qty", "price", "date"];

/// The real trades that are part of this program.
const BUILT_IN: &[u8] = include_bytes!("../data/trades.csv");

/// The rows of a file, after its header.
#[derive(Debug)]
pub(crate) struct Rows<R> {
    lines: Lines<R>,
    header: Header,
}

/// A good row.
#[derive(Debug, PartialEq)]
pub(crate) struct Row {
    /// The number of its line, counted from 1.
    pub(crate) line: u64,
    pub(crate) trade: Trade,
}

/// Where the columns stand.
#[derive(Debug)]
struct Header {
    names: Vec<String>,
}

impl<R: BufRead> Rows<R> {
    /// Reads the header.
    pub(crate) fn new(input: R) -> Result<Self, HeaderError> {
        let mut lines = Lines::new(input);
        if !lines.advance()? {
            return Err(HeaderError::Empty);
        }
        let names = lines.text().and_then(split).ok_or(HeaderError::NoText)?;
        let header = Header::new(&names)?;
        Ok(Self { lines, header })
    }

    /// The next row; the outer error is one of the file, the inner one of the row.
    pub(crate) fn next_row(&mut self) -> std::io::Result<Option<Result<Row, RowError>>> {
        if !self.lines.advance()? {
            return Ok(None);
        }
        let line = self.lines.number();
        let wrong = |reason: &str| RowError {
            line,
            column: None,
            reason: reason.to_owned(),
        };
        let Some(text) = self.lines.text() else {
            return Ok(Some(Err(wrong("is longer than 64 KiB"))));
        };
        let Some(fields) = split(text) else {
            return Ok(Some(Err(wrong(
                "has a quote that is not closed on the line",
            ))));
        };
        Ok(Some(
            self.header
                .trade(line, &fields)
                .map(|trade| Row { line, trade }),
        ))
    }

    /// The bytes that are behind us.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.lines.bytes()
    }
}

impl Header {
    fn new(fields: &ByteRecord) -> Result<Self, HeaderError> {
        let text = |field: &[u8]| String::from_utf8_lossy(field).trim().to_owned();
        let names: Vec<String> = fields.iter().map(text).collect();
        let times = |column: &str| names.iter().filter(|name| *name == column).count();
        if let Some(column) = COLUMNS.into_iter().find(|column| times(column) > 1) {
            return Err(HeaderError::Twice(column));
        }
        let missing: Vec<_> = COLUMNS
            .into_iter()
            .filter(|column| times(column) == 0)
            .collect();
        if missing.is_empty() {
            Ok(Self { names })
        } else {
            Err(HeaderError::Missing(missing))
        }
    }

    fn trade(&self, line: u64, fields: &ByteRecord) -> Result<Trade, RowError> {
        if fields.len() > self.names.len() {
            let reason = format!(
                "has {} values for {} columns",
                fields.len(),
                self.names.len()
            );
            return Err(RowError {
                line,
                column: None,
                reason,
            });
        }
        let fields = Values {
            header: self,
            line,
            row: fields,
        };
        Ok(Trade {
            customer_id: fields.read("customer_id", field::integer)?,
            ticker: fields.read("ticker", field::ticker)?,
            side: fields.read("type", field::side)?,
            qty: fields.read("qty", field::quantity)?,
            price: fields.read("price", field::price)?,
            date: fields.read("date", field::date)?,
        })
    }
}

/// The values of one row.
struct Values<'a> {
    header: &'a Header,
    line: u64,
    row: &'a ByteRecord,
}

impl Values<'_> {
    fn read<T>(
        &self,
        column: &'static str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, RowError> {
        let value = self.text(column).and_then(|text| parse(text.trim()));
        value.map_err(|reason| RowError {
            line: self.line,
            column: Some(column),
            reason,
        })
    }

    fn text(&self, column: &str) -> Result<&str, String> {
        let index = self.header.names.iter().position(|name| name == column);
        let bytes = index
            .and_then(|index| self.row.get(index))
            .ok_or("is missing")?;
        std::str::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())
    }
}

/// The values of a line; none if a quote is still open at its end.
fn split(line: &[u8]) -> Option<ByteRecord> {
    // A line of a dot follows: if the parser does not come to it, it is inside of a quote.
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

/// The rows that are part of this program.
pub(crate) fn built_in() -> Result<Vec<Trade>, Error> {
    let unreadable = |error| FileError::Header {
        path: "the built-in trades".into(),
        error,
    };
    let mut rows = Rows::new(BUILT_IN).map_err(unreadable)?;
    let mut trades = Vec::new();
    while let Some(row) = rows.next_row().map_err(Error::Input)? {
        trades.push(row.map_err(Error::BuiltIn)?.trade);
    }
    Ok(trades)
}

#[cfg(test)]
mod tests;
