//! Percent-encoding of characters that have a meaning in ids and field names.

use std::fmt::Write;

/// Appends a character as `%` and two digits. Only ASCII characters are escaped.
pub(crate) fn push_encoded(text: &mut String, character: char) {
    // Writing to a string cannot fail.
    let _ = write!(text, "%{:02X}", u32::from(character));
}

/// The text before encoding; `None` if it is not percent-encoded.
pub(crate) fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        if first == b'%' {
            let (hex, tail) = tail.split_at_checked(2)?;
            let hex = std::str::from_utf8(hex).ok()?;
            bytes.push(u8::from_str_radix(hex, 16).ok()?);
            rest = tail;
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok()
}
