//! Times, spans of time and durations on the command line.

use std::time::Duration;

use bucket_mongo::{TimeRange, bson::DateTime};
use clap::Args;

use crate::error::Error;

/// The options of a span of time.
#[derive(Debug, Clone, Args)]
pub(crate) struct Span {
    /// From this time on: 2024-02-14T14:30:00Z, 2024-02-14, or an age such as 7d
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) from: Option<DateTime>,
    /// Before this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) to: Option<DateTime>,
}

impl Span {
    /// The span; it never ends before it starts.
    pub(crate) fn range(&self) -> Result<TimeRange, Error> {
        match (self.from, self.to) {
            (Some(from), Some(to)) if to < from => Err(Error::Usage(
                "the span of time ends (--to) before it starts (--from)".to_owned(),
            )),
            (from, to) => Ok(TimeRange::new(from, to)),
        }
    }

    /// The same span for a later call: an age would then be another time.
    pub(crate) fn options(&self) -> Vec<String> {
        let sides = [("--from", self.from), ("--to", self.to)].into_iter();
        sides
            .filter_map(|(option, time)| Some([option.to_owned(), crate::text::date(time?)]))
            .flatten()
            .collect()
    }
}

/// A time: RFC 3339, a day in UTC, or an age.
pub(crate) fn time(text: &str) -> Result<DateTime, String> {
    if let Ok(date) = DateTime::parse_rfc3339_str(text) {
        return Ok(date);
    }
    if let Ok(day) = DateTime::parse_rfc3339_str(format!("{text}T00:00:00Z")) {
        return Ok(day);
    }
    let age = duration(text).ok();
    let age = age.and_then(|age| i64::try_from(age.as_millis()).ok());
    let time = age.and_then(|age| DateTime::now().timestamp_millis().checked_sub(age));
    time.map(DateTime::from_millis).ok_or_else(|| {
        format!("`{text}` is no time such as 2024-02-14T14:30:00Z, 2024-02-14 or 7d")
    })
}

const UNITS: [(&str, u64); 7] = [
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
    ("w", 604_800_000),
    // As `expire_after` in a model has it.
    ("y", 31_536_000_000),
];

/// A duration such as `90s`, `12h`, `30d`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no duration such as 500ms, 90s, 15m, 12h, 30d, 2w or 5y");
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let unit = UNITS.iter().find(|(name, _)| *name == unit);
    let millis = unit.and_then(|(_, millis)| number.checked_mul(*millis));
    millis.map(Duration::from_millis).ok_or_else(wrong)
}

/// A duration in the largest unit that divides it.
pub(crate) fn shown(duration: Duration) -> String {
    let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let unit = UNITS.iter().rev().find(|(_, unit)| millis % unit == 0);
    match unit {
        Some((name, unit)) if millis > 0 => format!("{}{name}", millis / unit),
        _ => "0s".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_shown_in_the_same_units() {
        for text in ["500ms", "90s", "15m", "12h", "30d", "2w", "5y"] {
            assert_eq!(shown(duration(text).unwrap()), text);
        }
        for text in ["", "5", "d", "1.5h", "-1d", "99999999999999999999y", "5 d"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_day_is_its_first_moment_in_utc() {
        assert_eq!(time("1970-01-02"), Ok(DateTime::from_millis(86_400_000)));
        assert_eq!(
            time("1970-01-01T01:00:00+01:00"),
            Ok(DateTime::from_millis(0))
        );
        assert!(time("noon").is_err());
        assert!(time("7d").unwrap() < DateTime::now());
    }
}
