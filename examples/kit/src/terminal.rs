//! The terminal of the standard output.

use console::Term;

/// The width without a terminal, such as in a pipe.
const USUAL: u16 = 80;

/// How many characters fit in a line; 80 if the standard output is not a terminal.
#[must_use]
pub fn width() -> usize {
    let size = Term::stdout().size_checked();
    size.map_or(USUAL, |(_, columns)| columns).into()
}
