//! The terminal of the standard output.

use console::Term;

/// Where there is no terminal, such as in a pipe.
const USUAL: u16 = 80;

/// How many characters fit in a line; 80 where the standard output is no terminal.
#[must_use]
pub fn width() -> usize {
    let size = Term::stdout().size_checked();
    size.map_or(USUAL, |(_, columns)| columns).into()
}
