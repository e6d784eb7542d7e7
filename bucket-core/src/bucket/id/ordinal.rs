//! Numbers as text whose byte order is their numeric order.

use std::fmt::Write;

/// 10^19, above the magnitude of every `i64`.
const COMPLEMENT: i128 = 10_000_000_000_000_000_000;
/// Digits of a complement.
const COMPLEMENT_DIGITS: usize = 19;

/// Appends a signed number. Numbers with at most `width` digits are plain, padded with zeros.
pub(super) fn push_signed(text: &mut String, value: i64, width: usize) {
    if value < 0 {
        let complement = COMPLEMENT + i128::from(value);
        text.push('-');
        // Writing to a string cannot fail.
        let _ = write!(text, "{complement:0COMPLEMENT_DIGITS$}");
        return;
    }
    let digits = format!("{value:0width$}");
    push_extra(text, digits.len() - width);
    text.push_str(&digits);
}

/// Appends a positive number. One digit is plain.
pub(super) fn push_sequence(text: &mut String, value: u64) {
    let digits = value.to_string();
    push_extra(text, digits.len() - 1);
    text.push_str(&digits);
}

/// A letter that counts the digits beyond the ordinary ones, if there are any.
fn push_extra(text: &mut String, extra: usize) {
    // A 64-bit number has at most 20 digits, so `s` is the last letter.
    if let Some(letter) = extra.checked_sub(1).and_then(|n| u8::try_from(n).ok()) {
        text.push(char::from(b'a' + letter));
    }
}

/// Reads what [`push_signed`] wrote.
pub(super) fn read_signed(text: &str, width: usize) -> Option<i64> {
    if let Some(digits) = text.strip_prefix('-') {
        if digits.len() != COMPLEMENT_DIGITS || !all_digits(digits) {
            return None;
        }
        let complement: i128 = digits.parse().ok()?;
        return i64::try_from(complement - COMPLEMENT).ok();
    }
    let (extra, digits) = split_extra(text)?;
    let leading_zero = extra > 0 && digits.starts_with('0');
    (digits.len() == width + extra && !leading_zero)
        .then(|| digits.parse().ok())
        .flatten()
}

/// Reads a plain number with fewer digits, as the manual's own code writes it for dates before
/// September 2001.
pub(super) fn read_short(text: &str, width: usize) -> Option<i64> {
    (text.len() < width && all_digits(text))
        .then(|| text.parse().ok())
        .flatten()
}

/// Reads what [`push_sequence`] wrote.
pub(super) fn read_sequence(text: &str) -> Option<u64> {
    let (extra, digits) = split_extra(text)?;
    (digits.len() == 1 + extra && !digits.starts_with('0'))
        .then(|| digits.parse().ok())
        .flatten()
}

fn split_extra(text: &str) -> Option<(usize, &str)> {
    let first = *text.as_bytes().first()?;
    let (extra, digits) = if first.is_ascii_lowercase() {
        (usize::from(first - b'a') + 1, &text[1..])
    } else {
        (0, text)
    };
    (!digits.is_empty() && all_digits(digits)).then_some((extra, digits))
}

fn all_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}
