//! Steps as text, for command lines and settings.

use std::{fmt, str::FromStr};

use super::{Interval, Length};
use crate::error::IntervalError;

/// The units of a duration and their seconds, the longest first. Weeks are missing on purpose:
/// counted from 1970, they would begin on Thursdays.
const UNITS: [(&str, u64); 4] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];

const CALENDAR: [(&str, Interval); 5] = [
    ("day", Interval::day()),
    ("week", Interval::week()),
    ("month", Interval::month()),
    ("quarter", Interval::quarter()),
    ("year", Interval::year()),
];

/// A duration such as `"15m"`, `"1h30m"` and `"7d"` (units `s`, `m`, `h` and `d`, each at most
/// once, the longest first), or one of `"day"`, `"week"`, `"month"`, `"quarter"` and `"year"`.
/// Those are in UTC unless a zone follows, as in `"month in Europe/Berlin"` (with the feature
/// `time-zones`). Every printed step can be parsed again, except one without length.
///
/// ```
/// use bucket_core::Interval;
///
/// assert_eq!("1h30m".parse(), Ok(Interval::minutes(90)));
/// let error = "1 fortnight".parse::<Interval>().unwrap_err();
/// assert!(error.to_string().contains("`day`, `week`, `month`, `quarter` and `year`"));
/// ```
impl FromStr for Interval {
    type Err = IntervalError;

    fn from_str(text: &str) -> Result<Self, IntervalError> {
        #[cfg(feature = "time-zones")]
        if let Some((step, zone)) = text.split_once(" in ") {
            return step.parse::<Self>()?.in_zone(zone);
        }
        if let Some((_, step)) = CALENDAR.iter().find(|(name, _)| *name == text) {
            return Ok(step.clone());
        }
        let seconds = seconds(text).map_err(|reason| IntervalError::Syntax {
            text: text.to_owned(),
            reason: reason.to_owned(),
        })?;
        let step = Self::of(Length::Fixed(seconds));
        step.check().map(|()| step)
    }
}

fn seconds(text: &str) -> Result<u64, &'static str> {
    if text.is_empty() {
        return Err("it is empty");
    }
    let (mut total, mut rest) = (0, text);
    // The units that may follow.
    let mut units = UNITS.as_slice();
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit());
        let (number, after) = rest.split_at(digits.unwrap_or(rest.len()));
        if number.is_empty() {
            return Err("it must consist of whole numbers, each with a unit");
        }
        let number: u32 = number.parse().map_err(|_| "a number is too large")?;
        let letters = after.find(|c: char| c.is_ascii_digit());
        let (unit, after) = after.split_at(letters.unwrap_or(after.len()));
        let known = |&(name, _): &(&str, u64)| name == unit;
        let Some(at) = units.iter().position(known) else {
            return Err(match unit {
                "" => "a number has no unit",
                "w" => "write `week` for weeks from Monday",
                _ if UNITS.iter().any(known) => "each unit appears at most once, the longest first",
                _ => "its units are `s`, `m`, `h` and `d`",
            });
        };
        // At most `u32::MAX` of each of four units: far from the end of a `u64`.
        total += u64::from(number) * units[at].1;
        units = &units[at + 1..];
        rest = after;
    }
    Ok(total)
}

/// The form that the parser reads, with the zone last: `1h30m`, `day`, `month in Europe/Berlin`.
impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.length {
            Length::Fixed(seconds) => write_duration(f, seconds)?,
            Length::Day => f.write_str("day")?,
            Length::Week => f.write_str("week")?,
            Length::Months(3) => f.write_str("quarter")?,
            Length::Months(12) => f.write_str("year")?,
            Length::Months(_) => f.write_str("month")?,
        }
        match self.zone() {
            Some(zone) => write!(f, " in {zone}"),
            None => Ok(()),
        }
    }
}

/// The shortest text of whole units; days only if no other unit is needed.
fn write_duration(f: &mut fmt::Formatter<'_>, seconds: u64) -> fmt::Result {
    if seconds == 0 {
        return f.write_str("0s");
    }
    let mut left = seconds;
    for (unit, length) in UNITS {
        let number = left / length;
        // `24h` and `25h` are the usual forms, as is `7d`.
        let few_days = unit == "d" && (number < 2 || !seconds.is_multiple_of(length));
        if number > 0 && !few_days {
            write!(f, "{number}{unit}")?;
            left %= length;
        }
    }
    Ok(())
}

#[cfg(all(test, feature = "time-zones"))]
mod tests {
    use super::Interval;

    #[test]
    fn what_is_printed_is_read_again() {
        let calendar = ["day", "week", "month", "quarter", "year"];
        let of_zone = |step: &str| format!("{step} in America/New_York");
        let zoned = calendar.iter().map(|step| of_zone(step));
        let fixed = [
            "1s",
            "90s",
            "15m",
            "1h30m",
            "24h",
            "25h",
            "7d",
            "4294967295d",
        ];
        let plain = calendar.iter().chain(&fixed).map(|&text| text.to_owned());
        for text in zoned.chain(plain) {
            let step: Interval = text.parse().unwrap();
            assert_eq!(step.to_string().parse(), Ok(step), "{text}");
        }
        for wrong in [
            "1h in Europe/Berlin",
            "day in Nowhere",
            "day in ",
            " in UTC",
        ] {
            assert!(wrong.parse::<Interval>().is_err(), "{wrong}");
        }
    }
}
