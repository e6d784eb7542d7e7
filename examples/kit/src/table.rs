//! Tables: a rule under the header, and no blanks at the end of a line.

pub use comfy_table::{Cell, Table};
use comfy_table::{CellAlignment, LineStyle, TableStyle};

/// A rule under the header and nothing else.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('-'));
/// Blanks to the left and to the right of each value.
const PADDING: (u16, u16) = (0, 2);

/// A table without rows.
#[must_use]
pub fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_header(header.iter().copied());
    table
}

/// A right-aligned value.
pub fn number(value: impl ToString) -> Cell {
    Cell::new(value).set_alignment(CellAlignment::Right)
}

/// The table with a line break at its end and no blanks before any line break.
#[must_use]
pub fn finished(mut table: Table) -> String {
    for column in table.column_iter_mut() {
        column.set_padding(PADDING);
    }
    table.trim_fmt() + "\n"
}
