//! Short texts that several commands share. Nothing here writes a control character.

use std::{fmt::Write as _, ops::RangeInclusive};

use bucket_mongo::bson::DateTime;

/// The milliseconds of the years 0 to 9999: others have no RFC 3339 form.
const HAVE_FORM: RangeInclusive<i64> = -62_167_219_200_000..=253_402_300_799_999;

/// `1 bucket`, `998 buckets`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// Whether a date has an RFC 3339 form.
pub(crate) fn has_form(date: DateTime) -> bool {
    HAVE_FORM.contains(&date.timestamp_millis()) && date.try_to_rfc3339_string().is_ok()
}

/// `2023-10-26T15:47:03.120Z`: RFC 3339, always with milliseconds; other dates in milliseconds.
pub(crate) fn date(date: DateTime) -> String {
    let millis = date.timestamp_millis();
    match date.try_to_rfc3339_string() {
        Ok(text) if HAVE_FORM.contains(&millis) => {
            let seconds = text.get(..19).unwrap_or(&text);
            format!("{seconds}.{:03}Z", millis.rem_euclid(1000))
        }
        _ => millis.to_string(),
    }
}

/// The same for people: `2010-12-01 08:26:00`, with milliseconds if there are any.
pub(crate) fn short_date(when: DateTime) -> String {
    let text = date(when).replacen('T', " ", 1);
    let text = text.strip_suffix('Z').unwrap_or(&text);
    text.strip_suffix(".000").unwrap_or(text).to_owned()
}

/// A number of bytes in units of 1,024.
#[allow(clippy::cast_precision_loss, reason = "one digit is shown")]
pub(crate) fn bytes(bytes: u64) -> String {
    if bytes < 1_024 {
        return format!("{bytes} B");
    }
    let (mut size, mut unit) = (bytes as f64, "B");
    for larger in ["KB", "MB", "GB", "TB", "PB", "EB"] {
        if size < 1_023.95 {
            break;
        }
        (size, unit) = (size / 1_024.0, larger);
    }
    format!("{size:.1} {unit}")
}

/// Whether a terminal obeys this character instead of showing it, or shows what follows in another order.
pub(crate) fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text on one line, with `\n` and `\u{1b}` for what a terminal would obey.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            // Writing to a string cannot fail.
            c if is_unsafe(c) => drop(write!(shown, "\\u{{{:x}}}", u32::from(c))),
            c => shown.push(c),
        }
    }
    shown
}

/// A word for a shell, in quotes where it needs them.
pub(crate) fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_shown_and_not_written() {
        let hostile = "a\u{1b}[31m\u{7}\u{9b}2J\u{202e}\n\u{7f}ü";
        let shown = printable(hostile);
        assert!(!shown.chars().any(is_unsafe), "{shown:?}");
        assert_eq!(shown, "a\\u{1b}[31m\\u{7}\\u{9b}2J\\u{202e}\\n\\u{7f}ü");
    }

    #[test]
    fn dates_keep_their_trailing_zeros() {
        assert_eq!(
            date(DateTime::from_millis(1_698_750_962_120)),
            "2023-10-31T11:16:02.120Z"
        );
        assert_eq!(date(DateTime::MAX), i64::MAX.to_string());
        assert_eq!(short_date(DateTime::from_millis(0)), "1970-01-01 00:00:00");
    }

    #[test]
    fn a_word_for_the_shell_is_one_word() {
        assert_eq!(shell_word("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(shell_word("day=1"), "day=1");
    }
}
