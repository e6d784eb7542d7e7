//! Short texts that several commands share, and lines on the standard error.

use std::{
    io::{self, Write as _},
    ops::RangeInclusive,
};

use bucket_mongo::bson::DateTime;

/// The milliseconds of the years 0 to 9999; the driver silently clamps other dates to this range.
const HAVE_FORM: RangeInclusive<i64> = -62_167_219_200_000..=253_402_300_799_999;

/// `1 trade`, `998 trades`.
#[must_use]
pub fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// `2023-10-26T15:47:03.120Z`: RFC 3339, always with milliseconds, as the manual prints dates.
///
/// A date outside of the years 0 to 9999 has no such form; it is printed in milliseconds.
#[must_use]
pub fn date(date: DateTime) -> String {
    let millis = date.timestamp_millis();
    // The driver's text leaves out trailing zeros, and all digits for a whole second.
    match date.try_to_rfc3339_string() {
        Ok(text) if HAVE_FORM.contains(&millis) => {
            let seconds = text.get(..19).unwrap_or(&text);
            format!("{seconds}.{:03}Z", millis.rem_euclid(1000))
        }
        _ => millis.to_string(),
    }
}

/// The same for people: `2010-12-01 08:26:00`, with milliseconds if there are any.
#[must_use]
pub fn short_date(when: DateTime) -> String {
    let text = date(when).replacen('T', " ", 1);
    let text = text.strip_suffix('Z').unwrap_or(&text);
    text.strip_suffix(".000").unwrap_or(text).to_owned()
}

/// A word for a shell, in quotes where it needs them.
#[must_use]
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A line on the standard error. If that is closed, nobody can read it.
pub fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_keep_their_trailing_zeros() {
        let stored = DateTime::from_millis(1_698_750_962_120);
        assert_eq!(date(stored), "2023-10-31T11:16:02.120Z");
        assert_eq!(short_date(stored), "2023-10-31 11:16:02.120");
        assert_eq!(short_date(DateTime::from_millis(0)), "1970-01-01 00:00:00");
    }

    #[test]
    fn a_word_for_the_shell_is_one_word() {
        assert_eq!(shell_word("/data/trades-1.csv"), "/data/trades-1.csv");
        assert_eq!(shell_word("my trades.csv"), "'my trades.csv'");
        assert_eq!(shell_word("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn dates_before_1970_and_outside_of_the_form_are_printed() {
        assert_eq!(date(DateTime::from_millis(-1)), "1969-12-31T23:59:59.999Z");
        assert_eq!(date(DateTime::MAX), i64::MAX.to_string());
    }
}
