//! Windows: how time is divided into buckets.
//!
//! Every window is aligned to UTC and half open: it includes its start and excludes its end. Fixed
//! windows are aligned to 1970-01-01, weeks to Mondays. The calendar is the proleptic Gregorian
//! one; its formulas come from Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".

use bson::DateTime;

/// The span of time that one bucket covers.
///
/// ```
/// use bson::DateTime;
/// use bucket_core::Window;
///
/// let before_1970 = DateTime::parse_rfc3339_str("1969-12-31T23:20:00Z").unwrap();
/// let (start, end) = Window::hours(1).span(before_1970);
/// assert_eq!(start.try_to_rfc3339_string().unwrap(), "1969-12-31T23:00:00Z");
/// assert_eq!(end.timestamp_millis(), 0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Window {
    /// A fixed number of seconds, 1 to 31,622,400 (366 days).
    Seconds(u32),
    /// A calendar day.
    Day,
    /// A calendar week, from Monday.
    Week,
    /// A calendar month.
    Month,
}

/// The longest fixed window and the longest duration of a bucket, in seconds: 366 days.
pub const MAX_SECONDS: u32 = 366 * 86_400;

pub(crate) const DAY: i128 = 86_400_000;

impl Window {
    /// A window of this many seconds.
    ///
    /// ```
    /// assert_eq!(bucket_core::Window::seconds(60), bucket_core::Window::minutes(1));
    /// ```
    #[must_use]
    pub const fn seconds(seconds: u32) -> Self {
        Self::Seconds(seconds)
    }

    /// A window of this many minutes. Using a window that is too long is an error.
    ///
    /// ```
    /// assert_eq!(bucket_core::Window::minutes(30), bucket_core::Window::seconds(1_800));
    /// ```
    #[must_use]
    pub const fn minutes(minutes: u32) -> Self {
        Self::Seconds(minutes.saturating_mul(60))
    }

    /// A window of this many hours. Using a window that is too long is an error.
    ///
    /// ```
    /// assert_eq!(bucket_core::Window::hours(1), bucket_core::Window::seconds(3_600));
    /// ```
    #[must_use]
    pub const fn hours(hours: u32) -> Self {
        Self::Seconds(hours.saturating_mul(3_600))
    }

    /// Whether windows may have this length.
    ///
    /// ```
    /// assert!(!bucket_core::Window::seconds(0).is_valid());
    /// assert!(bucket_core::Window::Month.is_valid());
    /// ```
    #[must_use]
    pub const fn is_valid(self) -> bool {
        match self {
            Self::Seconds(seconds) => 0 < seconds && seconds <= MAX_SECONDS,
            Self::Day | Self::Week | Self::Month => true,
        }
    }

    /// Whether each window of the other length lies inside of one of this length.
    pub(crate) const fn holds(self, inner: Self) -> bool {
        const DAY: u32 = 86_400;
        match (self, inner) {
            (Self::Week, Self::Week | Self::Day) | (Self::Month, Self::Month | Self::Day) => true,
            (Self::Week | Self::Month, Self::Seconds(seconds)) => {
                seconds > 0 && DAY.is_multiple_of(seconds)
            }
            (_, Self::Week | Self::Month) => false,
            (Self::Day | Self::Seconds(_), Self::Day | Self::Seconds(_)) => {
                let (own, inner) = (self.longest_millis(), inner.longest_millis());
                inner > 0 && own % inner == 0
            }
        }
    }

    /// The length of the longest such window, in milliseconds.
    pub(crate) const fn longest_millis(self) -> i64 {
        const DAY_MILLIS: i64 = 86_400_000;
        match self {
            Self::Seconds(seconds) => seconds as i64 * 1_000,
            Self::Day => DAY_MILLIS,
            Self::Week => 7 * DAY_MILLIS,
            Self::Month => 31 * DAY_MILLIS,
        }
    }

    /// The start and the end of the window that contains `date`.
    ///
    /// A window that reaches beyond the range of a BSON date is cut off there.
    ///
    /// ```
    /// use bson::DateTime;
    /// use bucket_core::Window;
    ///
    /// let leap_day = DateTime::parse_rfc3339_str("2024-02-29T12:00:00Z").unwrap();
    /// let (start, end) = Window::Month.span(leap_day);
    /// assert_eq!(start.try_to_rfc3339_string().unwrap(), "2024-02-01T00:00:00Z");
    /// assert_eq!(end.try_to_rfc3339_string().unwrap(), "2024-03-01T00:00:00Z");
    /// ```
    #[must_use]
    pub fn span(self, date: DateTime) -> (DateTime, DateTime) {
        let millis = date.timestamp_millis();
        // Nearly every record needs its window, so lengths that fit 64 bits avoid 128-bit
        // arithmetic.
        let fixed = |length: i64| {
            let passed = millis.rem_euclid(length);
            let start = millis.saturating_sub(passed);
            let end = millis.saturating_add(length - passed);
            (DateTime::from_millis(start), DateTime::from_millis(end))
        };
        let day = || i128::from(millis).div_euclid(DAY);
        let (start, end) = match self {
            // Callers refuse a length of zero earlier; here it counts as one second.
            Self::Seconds(seconds) => return fixed(i64::from(seconds.max(1)) * 1_000),
            Self::Day => return fixed(24 * 3_600 * 1_000),
            Self::Week => {
                // 1970-01-01 was a Thursday, three days after its Monday.
                let monday = day() - (day() + 3).rem_euclid(7);
                (monday * DAY, (monday + 7) * DAY)
            }
            Self::Month => {
                let month = month_of(day());
                (first_day(month) * DAY, first_day(month + 1) * DAY)
            }
        };
        (clamped(start), clamped(end))
    }
}

/// Whether a window can have this start and this end.
pub(crate) fn is_window(start: DateTime, end: DateTime) -> bool {
    let (first, behind) = (start.timestamp_millis(), end.timestamp_millis());
    let is_cut = start == DateTime::MIN || end == DateTime::MAX;
    let length = behind.saturating_sub(first);
    let is_fixed = length > 0
        && length <= i64::from(MAX_SECONDS) * 1_000
        && (is_cut || length % 1_000 == 0 && first % length == 0);
    is_fixed
        || [Window::Week, Window::Month]
            .map(|window| window.span(start))
            .contains(&(start, end))
}

pub(crate) fn clamped(millis: i128) -> DateTime {
    let end = if millis < 0 { i64::MIN } else { i64::MAX };
    DateTime::from_millis(i64::try_from(millis).unwrap_or(end))
}

/// The month (counted from the year 0) that contains a day (counted from 1970).
pub(crate) fn month_of(day: i128) -> i128 {
    let day = day + 719_468;
    let era = day.div_euclid(146_097);
    let of_era = day.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    // In these formulas, years begin in March.
    (era * 400 + year) * 12 + from_march + 2
}

/// The first day (counted from 1970) of a month (counted from the year 0).
pub(crate) fn first_day(month: i128) -> i128 {
    let from_march = (month - 2).rem_euclid(12);
    let year = (month - 2).div_euclid(12);
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * from_march + 2) / 5;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

impl std::fmt::Display for Window {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Seconds(seconds) if seconds % 3_600 == 0 => write!(f, "{}h", seconds / 3_600),
            Self::Seconds(seconds) if seconds % 60 == 0 => write!(f, "{}m", seconds / 60),
            Self::Seconds(seconds) => write!(f, "{seconds}s"),
            Self::Day => f.write_str("day"),
            Self::Week => f.write_str("week"),
            Self::Month => f.write_str("month"),
        }
    }
}

#[cfg(test)]
mod tests {
    use bson::DateTime;

    use super::Window;

    fn date(text: &str) -> DateTime {
        DateTime::parse_rfc3339_str(text).unwrap_or(DateTime::MIN)
    }

    #[test]
    fn a_window_holds_another_length_only_if_none_of_those_crosses_its_bounds() {
        let mut lengths = vec![Window::Day, Window::Week, Window::Month];
        let hours = [1, 7, 12, 24, 36, 48, 168, 744];
        lengths.extend(hours.map(Window::hours));
        for outer in &lengths {
            for inner in &lengths {
                // A leap year and the years around it.
                let crosses = (0..3 * 366 * 24).any(|hour: i64| {
                    let at = DateTime::from_millis((hour + 18_000 * 24) * 3_600_000);
                    let (start, end) = inner.span(at);
                    outer.span(start).1 < end
                });
                assert_eq!(outer.holds(*inner), !crosses, "{outer:?} {inner:?}");
            }
        }
    }

    #[test]
    fn windows_are_aligned_to_utc_on_both_sides_of_1970() {
        for (window, at, start, end) in [
            (
                Window::hours(1),
                "2026-01-30T10:59:59.999Z",
                "2026-01-30T10:00:00Z",
                "2026-01-30T11:00:00Z",
            ),
            (
                Window::minutes(30),
                "1969-12-31T23:31:00Z",
                "1969-12-31T23:30:00Z",
                "1970-01-01T00:00:00Z",
            ),
            (
                Window::Day,
                "1969-12-31T23:31:00Z",
                "1969-12-31T00:00:00Z",
                "1970-01-01T00:00:00Z",
            ),
            (
                Window::Week,
                "1970-01-01T00:00:00Z",
                "1969-12-29T00:00:00Z",
                "1970-01-05T00:00:00Z",
            ),
            (
                Window::Week,
                "2026-11-22T23:59:59Z",
                "2026-11-16T00:00:00Z",
                "2026-11-23T00:00:00Z",
            ),
            (
                Window::Month,
                "1900-02-28T00:00:00Z",
                "1900-02-01T00:00:00Z",
                "1900-03-01T00:00:00Z",
            ),
            (
                Window::Month,
                "2000-02-29T00:00:00Z",
                "2000-02-01T00:00:00Z",
                "2000-03-01T00:00:00Z",
            ),
            (
                Window::Month,
                "1969-12-31T23:59:59Z",
                "1969-12-01T00:00:00Z",
                "1970-01-01T00:00:00Z",
            ),
            (
                Window::Month,
                "2026-01-01T00:00:00Z",
                "2026-01-01T00:00:00Z",
                "2026-02-01T00:00:00Z",
            ),
        ] {
            assert_eq!(
                window.span(date(at)),
                (date(start), date(end)),
                "{window} at {at}"
            );
        }
    }

    #[test]
    fn every_date_lies_in_its_window() {
        let windows = [Window::seconds(7), Window::Day, Window::Week, Window::Month];
        for window in windows {
            for at in [i64::MIN, -1, 0, 1, 253_402_300_800_000, i64::MAX] {
                let at = DateTime::from_millis(at);
                let (start, end) = window.span(at);
                assert!(start <= at, "{window} at {at:?}");
                assert!(at < end || end == DateTime::MAX, "{window} at {at:?}");
            }
        }
    }

    #[test]
    fn neighbouring_windows_touch() {
        for window in [Window::Week, Window::Month, Window::Day, Window::hours(5)] {
            let mut at = date("1899-12-31T00:00:00Z");
            for _ in 0..5_000 {
                let (_, end) = window.span(at);
                assert_eq!(window.span(end).0, end, "{window}");
                at = end;
            }
        }
    }
}
