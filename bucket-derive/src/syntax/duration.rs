//! Durations and windows: `"1h"`, `"1h30m"`, `"day"`.

use syn::Lit;

use crate::{
    diagnostics::{Diagnostics, did_you_mean, suggest},
    symbol::{
        EXPIRE_AFTER, KEEP_STATS, MAX_DURATION, MERGE, MERGE_STATS, SEAL_AFTER, Symbol, WINDOW,
    },
    syntax::{entry::Entry, value},
};

/// The span of time that one bucket covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Window {
    Seconds(u32),
    Day,
    Week,
    Month,
}

/// What a duration may be.
#[derive(Clone, Copy)]
struct Span {
    /// In seconds.
    longest: u32,
    /// The same as a value to write, and as a message shows it.
    text: &'static str,
    printed: &'static str,
    /// A common one.
    usual: &'static str,
    /// Years of 365 days are a unit. A window of such a year would not begin with one.
    has_years: bool,
}

impl Span {
    const fn units(self) -> &'static str {
        if self.has_years {
            "the units are `s`, `m` (or `min`), `h`, `d`, `w` and `y` (365 days)"
        } else {
            "the units are `s`, `m` (or `min`), `h`, `d` and `w`"
        }
    }
}

/// The span of a bucket.
const BUCKET: Span = Span {
    longest: 366 * 86_400,
    text: "366d",
    printed: "366 days",
    usual: "1h",
    has_years: false,
};

/// The span within which buckets become one: longer than a window.
const MERGED: Span = Span {
    usual: "month",
    ..BUCKET
};

/// The age of records: at most what the server accepts, 2^31 - 1 seconds (68 years).
const KEPT: Span = Span {
    longest: 2_147_483_647,
    text: "24855d",
    printed: "2,147,483,647 seconds",
    usual: "30d",
    has_years: true,
};

const CALENDAR: [(&str, Window); 3] = [
    ("day", Window::Day),
    ("week", Window::Week),
    ("month", Window::Month),
];

/// What is wrong with a text, and the text to write instead.
#[derive(Debug, PartialEq, Eq)]
struct Problem {
    message: String,
    instead: String,
}

/// The value of `window = "1h"`.
pub(crate) fn window(cx: &mut Diagnostics, entry: &Entry) -> Option<Window> {
    span(cx, entry, WINDOW, BUCKET)
}

/// The value of `merge = "week"`.
pub(crate) fn merge(cx: &mut Diagnostics, entry: &Entry) -> Option<Window> {
    span(cx, entry, MERGE, MERGED)
}

/// The value of `merge_stats = "month"`.
pub(crate) fn merge_stats(cx: &mut Diagnostics, entry: &Entry) -> Option<Window> {
    span(cx, entry, MERGE_STATS, MERGED)
}

fn span(cx: &mut Diagnostics, entry: &Entry, symbol: Symbol, span: Span) -> Option<Window> {
    read(cx, entry, symbol, span, |text| {
        if let Some((_, window)) = CALENDAR.iter().find(|(name, _)| *name == text) {
            return Ok(*window);
        }
        if !text.is_empty() && text.chars().all(char::is_alphabetic) {
            return Err(unknown_window(text, span));
        }
        seconds(text, span).map(Window::Seconds)
    })
}

/// The value of `max_duration = "1h"`, in seconds.
pub(crate) fn max_duration(cx: &mut Diagnostics, entry: &Entry) -> Option<u32> {
    read(cx, entry, MAX_DURATION, BUCKET, |text| {
        let instead = match text {
            "day" => "1d",
            "week" => "1w",
            "month" => "30d",
            _ => return seconds(text, BUCKET),
        };
        problem(
            format!(
                "`{text}` is a calendar window, but a longest duration counts from the first record of a bucket"
            ),
            instead,
        )
    })
}

/// The value of `expire_after = "30d"`, in seconds.
pub(crate) fn expire_after(cx: &mut Diagnostics, entry: &Entry) -> Option<u32> {
    age(cx, entry, EXPIRE_AFTER)
}

/// The value of `keep_stats = "5y"`, in seconds.
pub(crate) fn keep_stats(cx: &mut Diagnostics, entry: &Entry) -> Option<u32> {
    age(cx, entry, KEEP_STATS)
}

/// The value of `seal_after = "7d"`, in seconds.
pub(crate) fn seal_after(cx: &mut Diagnostics, entry: &Entry) -> Option<u32> {
    age(cx, entry, SEAL_AFTER)
}

/// An age of records.
fn age(cx: &mut Diagnostics, entry: &Entry, symbol: Symbol) -> Option<u32> {
    read(cx, entry, symbol, KEPT, |text| {
        let instead = match text {
            "day" => "1d",
            "week" => "1w",
            "month" => "30d",
            "year" => "1y",
            _ => return seconds(text, KEPT),
        };
        let units = KEPT.units();
        problem(
            format!("`{text}` is not a duration: days have the unit `d`; {units}"),
            instead,
        )
    })
}

/// Reads a string; a number has no unit and is not a duration.
fn read<T>(
    cx: &mut Diagnostics,
    entry: &Entry,
    symbol: Symbol,
    span: Span,
    parse: impl FnOnce(&str) -> Result<T, Problem>,
) -> Option<T> {
    let example = match value::literal(entry) {
        Some(Lit::Int(number))
            if number.suffix().is_empty() && symbol != MERGE && symbol != MERGE_STATS =>
        {
            format!("{number}s")
        }
        _ => span.usual.to_owned(),
    };
    let given = value::string(cx, entry, &format!("{symbol} = \"{example}\""))?;
    match parse(given.value().trim()) {
        Ok(value) => Some(value),
        Err(Problem { message, instead }) => {
            cx.error(given, message, format_args!("{symbol} = \"{instead}\""));
            None
        }
    }
}

fn problem<T>(message: String, instead: impl Into<String>) -> Result<T, Problem> {
    Err(Problem {
        message,
        instead: instead.into(),
    })
}

fn unknown_window(text: &str, span: Span) -> Problem {
    let meant = did_you_mean(text, CALENDAR.map(|(name, _)| name));
    let valid = "a window is a duration such as `1h`, or one of `day`, `week` and `month`";
    let instead = meant.map_or_else(
        || meant_unit(text, span).map_or_else(|| span.usual.to_owned(), |unit| format!("1{unit}")),
        str::to_owned,
    );
    Problem {
        message: suggest(&format!("unknown window `{text}`"), meant, valid),
        instead,
    }
}

/// The seconds of a sum such as `1h30m`.
fn seconds(text: &str, span: Span) -> Result<u32, Problem> {
    if text.is_empty() {
        return problem("a duration cannot be empty".to_owned(), span.usual);
    }
    let (shown, units) = (text.escape_debug(), span.units());
    let (mut total, mut rest) = (0_u64, text);
    while !rest.is_empty() {
        let (number, after) = split(rest, |c| c.is_ascii_digit());
        let (unit, after) = split(after.trim_start(), char::is_alphabetic);
        if number.is_empty() || (unit.is_empty() && !after.is_empty()) {
            let message = format!(
                "`{shown}` is not a duration: write whole numbers, each with a unit; {units}"
            );
            return problem(message, "1h30m");
        }
        if unit.is_empty() {
            return problem(
                format!("`{shown}` has no unit; {units}"),
                format!("{text}s"),
            );
        }
        let Some(factor) = factor(unit, span) else {
            let message = format!("unknown unit `{unit}` in `{shown}`; {units}");
            if unit.starts_with('y') && !span.has_years {
                return problem(message, span.text);
            }
            let meant = meant_unit(unit, span).unwrap_or("s");
            return problem(message, format!("{number}{meant}"));
        };
        // Whatever does not fit is too long.
        let part = number
            .parse()
            .map_or(u64::MAX, |n: u64| n.saturating_mul(factor));
        total = total.saturating_add(part);
        rest = after.trim_start();
    }
    let longest = span.printed;
    match u32::try_from(total) {
        Ok(0) => problem(
            format!("`{shown}` covers no time: the shortest is 1 second, the longest {longest}"),
            span.usual,
        ),
        Ok(total) if total <= span.longest => Ok(total),
        _ => problem(
            format!("`{shown}` is too long: the longest is {longest}"),
            span.text,
        ),
    }
}

/// Splits off the leading characters for which `belongs` holds.
fn split(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.find(|c| !belongs(c)).unwrap_or(text.len());
    text.split_at(end)
}

fn factor(unit: &str, span: Span) -> Option<u64> {
    match unit {
        "s" => Some(1),
        "m" | "min" => Some(60),
        "h" => Some(3_600),
        "d" => Some(86_400),
        "w" => Some(7 * 86_400),
        "y" if span.has_years => Some(365 * 86_400),
        _ => None,
    }
}

/// The unit that a word most likely means.
fn meant_unit(word: &str, span: Span) -> Option<&'static str> {
    let word = word.to_lowercase();
    let starts = |start: &str| word.starts_with(start);
    match word.as_str() {
        "m" => Some("m"),
        _ if starts("min") => Some("m"),
        _ if starts("s") => Some("s"),
        _ if starts("h") => Some("h"),
        _ if starts("d") => Some("d"),
        _ if starts("w") => Some("w"),
        _ if starts("y") && span.has_years => Some("y"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{BUCKET, KEPT, Span, seconds};

    fn problem(text: &str, span: Span) -> String {
        match seconds(text, span) {
            Ok(seconds) => format!("{seconds} seconds"),
            Err(problem) => format!("{} -> {}", problem.message, problem.instead),
        }
    }

    #[test]
    fn units_are_added_up() {
        for (text, expected) in [
            ("30s", 30),
            ("1m", 60),
            ("90min", 5_400),
            ("1h", 3_600),
            ("1h30m", 5_400),
            ("1h 30m", 5_400),
            ("2 h", 7_200),
            ("7d", 604_800),
            ("2w", 1_209_600),
            ("366d", 31_622_400),
        ] {
            assert_eq!(seconds(text, BUCKET), Ok(expected), "{text}");
        }
    }

    #[test]
    fn each_mistake_is_named_and_corrected() {
        for (text, message, instead) in [
            ("", "cannot be empty", "1h"),
            ("0s", "covers no time", "1h"),
            ("0h0m", "covers no time", "1h"),
            ("367d", "too long", "366d"),
            ("99999999999999999999999s", "too long", "366d"),
            ("60", "has no unit", "60s"),
            ("1h30", "has no unit", "1h30s"),
            ("2hours", "unknown unit `hours`", "2h"),
            ("3minutes", "unknown unit `minutes`", "3m"),
            ("100ms", "unknown unit `ms`", "100s"),
            ("1H", "unknown unit `H`", "1h"),
            ("5M", "unknown unit `M`", "5m"),
            ("1y", "unknown unit `y`", "366d"),
            ("1.5h", "is not a duration", "1h30m"),
            ("-1h", "is not a duration", "1h30m"),
            ("h", "is not a duration", "1h30m"),
        ] {
            let problem = problem(text, BUCKET);
            assert!(problem.contains(message), "{text}: {problem}");
            assert!(
                problem.ends_with(&format!("-> {instead}")),
                "{text}: {problem}"
            );
        }
    }

    #[test]
    fn records_are_kept_for_what_the_server_takes() {
        assert_eq!(seconds("24855d3h14m7s", KEPT), Ok(2_147_483_647));
        assert_eq!(seconds("5y", KEPT), Ok(5 * 365 * 86_400));
        for (text, message, instead) in [
            ("24855d3h14m8s", "too long", "24855d"),
            ("0d", "covers no time", "30d"),
            ("", "cannot be empty", "30d"),
            ("5years", "unknown unit `years`", "5y"),
        ] {
            let problem = problem(text, KEPT);
            let corrected = problem.ends_with(&format!("-> {instead}"));
            assert!(problem.contains(message) && corrected, "{text}: {problem}");
        }
    }
}
