//! Steps: how a span of time is divided into the rows of a rollup.
//!
//! Steps are half open, as windows are, and cover all of time: where one ends, the next begins.
//! Fixed steps are aligned to 1970-01-01 in UTC, so that they can be multiples of windows. Calendar
//! steps may follow a time zone, with days of 23 and 25 hours.

mod fill;
mod iter;
mod multiple;
mod text;
#[cfg(feature = "time-zones")]
mod zone;
#[cfg(not(feature = "time-zones"))]
#[path = "step/no_zone.rs"]
mod zone;

use bson::DateTime;

use self::zone::Zone;
pub use self::{
    fill::{Fill, Filled},
    iter::Steps,
};
use super::window::{DAY, clamped, first_day, month_of};
use crate::error::IntervalError;

/// The length of the steps that divide a span of time.
///
/// ```
/// use bson::DateTime;
/// use bucket_core::Interval;
///
/// let at = DateTime::parse_rfc3339_str("2026-03-29T10:20:30Z")?;
/// let (start, end) = Interval::minutes(15).span(at);
/// assert_eq!(start, DateTime::parse_rfc3339_str("2026-03-29T10:15:00Z")?);
/// assert_eq!(end, DateTime::parse_rfc3339_str("2026-03-29T10:30:00Z")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[must_use]
pub struct Interval {
    length: Length,
    zone: Option<Zone>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Length {
    /// Seconds. At most `u32::MAX` of each unit that a text can name, so the value in milliseconds
    /// is far from the end of an `i64`.
    Fixed(u64),
    Day,
    Week,
    Months(u8),
}

impl Interval {
    /// Steps of this many seconds.
    ///
    /// ```
    /// # use bucket_core::Interval;
    /// assert_eq!(Interval::seconds(60), Interval::minutes(1));
    /// ```
    pub const fn seconds(seconds: u32) -> Self {
        Self::of(Length::Fixed(seconds as u64))
    }

    /// Steps of this many minutes.
    ///
    /// ```
    /// # use bucket_core::Interval;
    /// assert_eq!(Interval::minutes(90).to_string(), "1h30m");
    /// ```
    pub const fn minutes(minutes: u32) -> Self {
        Self::of(Length::Fixed(minutes as u64 * 60))
    }

    /// Steps of this many hours.
    ///
    /// ```
    /// # use bucket_core::Interval;
    /// assert_eq!(Interval::hours(1).to_string(), "1h");
    /// ```
    pub const fn hours(hours: u32) -> Self {
        Self::of(Length::Fixed(hours as u64 * 3_600))
    }

    /// Calendar days, in UTC unless [`in_zone`](Self::in_zone) names another zone.
    ///
    /// ```
    /// # use bucket_core::Interval;
    /// assert_eq!(Interval::day().to_string(), "day");
    /// ```
    pub const fn day() -> Self {
        Self::of(Length::Day)
    }

    /// Calendar weeks, from Monday.
    ///
    /// ```
    /// # use bucket_core::Interval;
    /// assert_eq!("week".parse(), Ok(Interval::week()));
    /// ```
    pub const fn week() -> Self {
        Self::of(Length::Week)
    }

    /// Calendar months.
    ///
    /// ```
    /// # use bucket_core::Interval;
    /// assert_eq!("month".parse(), Ok(Interval::month()));
    /// ```
    pub const fn month() -> Self {
        Self::of(Length::Months(1))
    }

    /// Calendar quarters, from the first of January, April, July and October.
    ///
    /// ```
    /// # use bucket_core::Interval;
    /// assert_eq!("quarter".parse(), Ok(Interval::quarter()));
    /// ```
    pub const fn quarter() -> Self {
        Self::of(Length::Months(3))
    }

    /// Calendar years.
    ///
    /// ```
    /// # use bucket_core::Interval;
    /// assert_eq!("year".parse(), Ok(Interval::year()));
    /// ```
    pub const fn year() -> Self {
        Self::of(Length::Months(12))
    }

    const fn of(length: Length) -> Self {
        Self { length, zone: None }
    }

    /// The same calendar steps in this time zone: a name of the IANA database.
    ///
    /// The database is compiled in. Days begin at midnight. If clocks skip midnight, the day begins
    /// at the first moment after the gap; if they show midnight twice, at the first one. A day that
    /// a zone left out is not a step. All BSON dates are accepted: the years from 8370 on and
    /// before -6030 repeat the calendar's cycle of 400 years.
    ///
    /// ```
    /// use bson::DateTime;
    /// use bucket_core::Interval;
    ///
    /// let days = Interval::day().in_zone("Europe/Berlin")?;
    /// // Clocks go forward: a day of 23 hours.
    /// let (start, end) = days.span(DateTime::parse_rfc3339_str("2026-03-29T12:00:00Z")?);
    /// assert_eq!(start, DateTime::parse_rfc3339_str("2026-03-28T23:00:00Z")?);
    /// assert_eq!(end, DateTime::parse_rfc3339_str("2026-03-29T22:00:00Z")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`IntervalError::UnknownZone`] if no zone has the name; [`IntervalError::FixedInZone`] if the steps
    /// are fixed and not calendar steps.
    #[cfg(feature = "time-zones")]
    #[cfg_attr(docsrs, doc(cfg(feature = "time-zones")))]
    pub fn in_zone(self, name: &str) -> Result<Self, IntervalError> {
        if let Length::Fixed(_) = self.length {
            return Err(IntervalError::FixedInZone {
                step: self.to_string(),
                zone: name.to_owned(),
            });
        }
        let zone = Zone::named(name)?;
        Ok(Self { zone, ..self })
    }

    /// The name of the time zone; `None` for UTC.
    ///
    /// ```
    /// # use bucket_core::Interval;
    /// assert_eq!(Interval::day().zone(), None);
    /// ```
    #[must_use]
    pub fn zone(&self) -> Option<&str> {
        self.zone.as_ref().map(Zone::name)
    }

    /// Checks that the step has a length. Using a step without length is an error.
    ///
    /// ```
    /// # use bucket_core::{Interval, IntervalError};
    /// assert_eq!(Interval::hours(0).check(), Err(IntervalError::Zero));
    /// ```
    ///
    /// # Errors
    ///
    /// [`IntervalError::Zero`] if a step has no length.
    pub fn check(&self) -> Result<(), IntervalError> {
        match self.length {
            Length::Fixed(0) => Err(IntervalError::Zero),
            _ => Ok(()),
        }
    }

    /// The start and the end of the step that contains `date`.
    ///
    /// A step that reaches beyond the range of a BSON date is cut off there.
    ///
    /// ```
    /// use bson::DateTime;
    /// use bucket_core::Interval;
    ///
    /// let (start, end) = Interval::year().span(DateTime::parse_rfc3339_str("1969-12-31T23:59:59Z")?);
    /// assert_eq!(start, DateTime::parse_rfc3339_str("1969-01-01T00:00:00Z")?);
    /// assert_eq!(end, DateTime::from_millis(0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn span(&self, date: DateTime) -> (DateTime, DateTime) {
        let number = self.number(date);
        (clamped(self.start(number)), clamped(self.start(number + 1)))
    }

    /// The number of the step that contains a moment.
    fn number(&self, date: DateTime) -> i128 {
        let at = i128::from(date.timestamp_millis());
        let mut number = self.shown_number(at);
        // Local dates can go back: clocks that are set back at 00:01 show the previous day again.
        // That hour belongs to the day that has begun.
        while at < self.start(number) {
            number -= 1;
        }
        while self.start(number + 1) <= at {
            number += 1;
        }
        number
    }

    /// The number of the step, by the date that clocks show.
    fn shown_number(&self, millis: i128) -> i128 {
        let day = || {
            let local = self.zone.as_ref().map_or(millis, |zone| zone.local(millis));
            local.div_euclid(DAY)
        };
        match self.length {
            Length::Fixed(seconds) => millis.div_euclid(fixed_millis(seconds)),
            Length::Day => day(),
            // 1970-01-01 was a Thursday, three days after its Monday.
            Length::Week => (day() + 3).div_euclid(7),
            Length::Months(months) => month_of(day()).div_euclid(i128::from(months)),
        }
    }

    /// The start of the step with this number; never before its predecessor.
    fn start(&self, number: i128) -> i128 {
        let day = match self.length {
            Length::Fixed(seconds) => return number * fixed_millis(seconds),
            Length::Day => number,
            Length::Week => number * 7 - 3,
            Length::Months(months) => first_day(number * i128::from(months)),
        };
        self.zone
            .as_ref()
            .map_or(day * DAY, |zone| zone.start_of_day(day))
    }
}

/// Callers refuse a length of zero earlier; here it counts as one second.
fn fixed_millis(seconds: u64) -> i128 {
    i128::from(seconds.max(1)) * 1_000
}
