//! User text in messages: on one line, safe for a terminal, and not too long.

pub(crate) mod bytes;
pub(crate) mod percent;

use std::fmt;

/// The first characters are enough to recognize the text.
const SHOWN: usize = 60;

/// The text in a redacted error that replaces everything it would quote.
pub const REDACTED: &str = "REDACTED";

/// A text in quotes, with control characters escaped, cut if it is long.
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (start, more) = cut(self.0);
        write!(f, "{start:?}{more}")
    }
}

/// A text that is already escaped, cut if it is long.
///
/// ```
/// let id = format!("{:?}", "x".repeat(100));
/// assert!(bucket_core::text::Shortened(&id).to_string().ends_with("xx.."));
/// ```
#[derive(Debug)]
pub struct Shortened<'a>(pub &'a str);

impl fmt::Display for Shortened<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (start, more) = cut(self.0);
        write!(f, "{start}{more}")
    }
}

/// The start of a text, and a mark if the text goes on.
fn cut(text: &str) -> (&str, &str) {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => (&text[..end], ".."),
        None => (text, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_on_their_line_and_short() {
        assert_eq!(Quoted("a \"b\"").to_string(), r#""a \"b\"""#);
        assert_eq!(
            Quoted("a\n\u{1b}[2J\u{202e}").to_string(),
            r#""a\n\u{1b}[2J\u{202e}""#
        );
        let long = Quoted(&"\u{e9}".repeat(10_000)).to_string();
        assert_eq!(long, format!("\"{}\"..", "\u{e9}".repeat(SHOWN)));
        let whole = "x".repeat(SHOWN);
        assert_eq!(Shortened(&whole).to_string(), whole);
        assert_eq!(Shortened(&(whole.clone() + "y")).to_string(), whole + "..");
    }
}
