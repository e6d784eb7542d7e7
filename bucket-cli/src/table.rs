//! Tables: as text that fits the terminal, and as CSV.

use std::fmt;

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, TableStyle};

use crate::text;

/// A rule under the header and nothing else.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('-'));
/// Blanks to the left and to the right of each value.
const PADDING: (u16, u16) = (0, 2);

/// Rows of cells under names.
#[derive(Debug)]
pub(crate) struct Table {
    names: Vec<String>,
    rows: Vec<Vec<Value>>,
}

/// A cell.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    /// Left-aligned.
    Text(String),
    /// Right-aligned.
    Number(String),
}

impl Table {
    pub(crate) fn new<I>(names: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        Self {
            names: names.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn row(&mut self, row: Vec<Value>) {
        self.rows.push(row);
    }

    /// Lines of at most this many characters, if there is a limit. Columns wrap; nothing is cut off.
    pub(crate) fn text(&self, width: Option<u16>) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(STYLE);
        table.set_header(self.names.iter().map(|name| text::printable(name)));
        for row in &self.rows {
            table.add_row(row.iter().map(Value::cell));
        }
        if let Some(width) = width {
            // The rule under the header reaches below the blanks of the last column.
            table.set_width(width.saturating_sub(PADDING.1));
            table.set_content_arrangement(ContentArrangement::Dynamic);
        }
        for column in table.column_iter_mut() {
            column.set_padding(PADDING);
        }
        table.trim_fmt() + "\n"
    }

    /// RFC 4180, with the names as the first line if they are wanted.
    pub(crate) fn csv(&self, with_names: bool) -> String {
        if self.names.is_empty() {
            return String::new();
        }
        let mut to = csv::Writer::from_writer(Vec::new());
        let names = with_names.then_some(&self.names);
        // Writing to memory cannot fail, and all rows have the length of the first.
        if let Some(names) = names {
            let _ = to.write_record(names);
        }
        for row in &self.rows {
            let _ = to.write_record(row.iter().map(Value::text));
        }
        let bytes = to.into_inner().unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Value {
    fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Number(text) => text,
        }
    }

    fn cell(&self) -> Cell {
        let cell = Cell::new(text::printable(self.text()));
        match self {
            Self::Text(_) => cell,
            Self::Number(_) => cell.set_alignment(CellAlignment::Right),
        }
    }
}

/// A left-aligned cell.
pub(crate) fn left(text: impl Into<String>) -> Value {
    Value::Text(text.into())
}

/// A right-aligned cell.
pub(crate) fn number(number: impl fmt::Display) -> Value {
    Value::Number(number.to_string())
}
