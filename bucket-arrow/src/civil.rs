//! Dates of the calendar for every millisecond that BSON has.

use std::fmt::Write as _;

const DAY: i64 = 86_400_000;

/// A month of the calendar, counted from January of the year 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Month(i64);

impl Month {
    /// The month of a moment.
    pub(crate) fn of(millis: i64) -> Self {
        let (year, month, _) = day(millis.div_euclid(DAY));
        Self(year * 12 + month - 1)
    }

    /// Its first millisecond; `None` before the first one of BSON.
    pub(crate) fn start(self) -> Option<i64> {
        let days = days(self.0.div_euclid(12), self.0.rem_euclid(12) + 1, 1);
        days.checked_mul(DAY)
    }

    /// The month after it.
    pub(crate) const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// `2024-01`.
    pub(crate) fn text(self) -> String {
        let (year, month) = (self.0.div_euclid(12), self.0.rem_euclid(12) + 1);
        format!("{}-{month:02}", year_text(year))
    }

    /// The month of this text.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (year, month) = text.rsplit_once('-')?;
        let (year, month): (i64, i64) = (year.parse().ok()?, month.parse().ok()?);
        let month = Self(year.checked_mul(12)?.checked_add(month - 1)?);
        // Only its own text is the name of a month.
        (month.text() == text).then_some(month)
    }
}

fn year_text(year: i64) -> String {
    if year < 0 {
        format!("-{:04}", -year)
    } else {
        format!("{year:04}")
    }
}

/// A moment as RFC 3339 with milliseconds; years of more than four digits have as many as they need.
pub(crate) fn iso(millis: i64) -> String {
    let (year, month, day) = day(millis.div_euclid(DAY));
    let rest = millis.rem_euclid(DAY);
    let (seconds, milli) = (rest / 1_000, rest % 1_000);
    let mut text = year_text(year);
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "-{month:02}-{day:02}T{:02}:{:02}:{:02}.{milli:03}Z",
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60,
    );
    text
}

/// The year, the month and the day of a day since 1970, in the Gregorian calendar of all times.
fn day(days: i64) -> (i64, i64, i64) {
    // Days are counted from the first of March of the year 0: a leap day is the last one of its year.
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// The days since 1970 of a day.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let from_march = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
    era * 146_097 + of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_has_the_text_that_bson_gives_it() {
        for millis in [
            0,
            -1,
            951_782_400_000,
            1_709_210_096_789,
            -62_135_596_800_000,
        ] {
            let date = bucket_mongo::bson::DateTime::from_millis(millis);
            let expected = date.try_to_rfc3339_string().unwrap();
            let (own, expected) = (iso(millis), expected.trim_end_matches('Z').to_owned());
            assert!(own.starts_with(&expected), "{own} {expected}");
        }
        assert_eq!(iso(i64::MAX), "292278994-08-17T07:12:55.807Z");
        assert_eq!(iso(i64::MIN), "-292275055-05-16T16:47:04.192Z");
    }

    #[test]
    fn each_moment_is_in_the_month_that_its_text_names() {
        let mut millis = -80_000_000_000_000;
        while millis < 80_000_000_000_000 {
            let month = Month::of(millis);
            assert!(iso(millis).starts_with(&month.text()));
            assert!(month.start().unwrap() <= millis);
            assert!(millis < month.next().start().unwrap());
            assert_eq!(Month::parse(&month.text()), Some(month));
            millis += 777_777_777_777;
        }
        for millis in [i64::MIN, i64::MAX] {
            let month = Month::of(millis);
            assert_eq!(Month::parse(&month.text()), Some(month));
        }
        assert_eq!(Month::of(i64::MIN).start(), None);
        assert_eq!(Month::parse("24-1"), None);
    }
}
