//! Spans of time that bound reads.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use bson::DateTime;

use crate::time::BucketTime;

/// A span of time, half open: it includes its start and excludes its end. Either side may be
/// unbounded.
///
/// ```
/// use bson::DateTime;
/// use bucket_core::{IntoTimeRange, TimeRange};
///
/// let (start, end) = (DateTime::from_millis(0), DateTime::from_millis(1_000));
/// let range: TimeRange = (start..end).into_time_range();
/// assert!(range.contains(start) && !range.contains(end));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct TimeRange {
    start: Option<DateTime>,
    end: Option<DateTime>,
}

impl TimeRange {
    /// All of time.
    pub const ALL: Self = Self {
        start: None,
        end: None,
    };

    /// From `start` on and before `end`; `None` for no bound.
    ///
    /// ```
    /// assert_eq!(bucket_core::TimeRange::new(None, None), bucket_core::TimeRange::ALL);
    /// ```
    #[must_use]
    pub const fn new(start: Option<DateTime>, end: Option<DateTime>) -> Self {
        Self { start, end }
    }

    /// The first moment of the span.
    #[must_use]
    pub const fn start(&self) -> Option<DateTime> {
        self.start
    }

    /// The first moment after the span.
    #[must_use]
    pub const fn end(&self) -> Option<DateTime> {
        self.end
    }

    /// Whether the span contains the moment.
    #[must_use]
    pub fn contains(&self, date: DateTime) -> bool {
        self.start.is_none_or(|start| start <= date) && self.end.is_none_or(|end| date < end)
    }

    /// Whether the end is before the start. That is a mistake, not an empty range.
    ///
    /// ```
    /// # use bson::DateTime;
    /// use bucket_core::IntoTimeRange;
    ///
    /// let range = DateTime::from_millis(1)..DateTime::from_millis(0);
    /// assert!(range.into_time_range().is_reversed());
    /// ```
    #[must_use]
    pub fn is_reversed(&self) -> bool {
        matches!((self.start, self.end), (Some(start), Some(end)) if end < start)
    }

    /// Whether the span can contain no moment.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!((self.start, self.end), (Some(start), Some(end)) if end <= start)
    }

    /// The intersection of both.
    ///
    /// ```
    /// # use bson::DateTime;
    /// use bucket_core::{IntoTimeRange, TimeRange};
    ///
    /// let day = (DateTime::from_millis(0)..).into_time_range();
    /// assert_eq!(TimeRange::ALL.and(day), day);
    /// ```
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            // `None` orders before every start.
            start: self.start.max(other.start),
            end: match (self.end, other.end) {
                (Some(one), Some(two)) => Some(one.min(two)),
                (one, two) => one.or(two),
            },
        }
    }
}

/// A value that a caller can pass as a span of time: `a..b`, `a..`, `..b`, `a..=b`, `..=b` and `..`
/// of any type that can be a record's time, or a [`TimeRange`].
///
/// ```
/// # use bson::DateTime;
/// use bucket_core::{IntoTimeRange, TimeRange};
///
/// let end = DateTime::from_millis(41);
/// assert_eq!((..=end).into_time_range().end(), Some(DateTime::from_millis(42)));
/// assert_eq!((..).into_time_range(), TimeRange::ALL);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a span of time",
    note = "pass a range of times, such as `from..to`, `from..` or `..`"
)]
pub trait IntoTimeRange {
    /// The span of time.
    fn into_time_range(self) -> TimeRange;
}

/// The first moment after this one; `None` for the last possible moment.
fn behind(date: DateTime) -> Option<DateTime> {
    date.timestamp_millis()
        .checked_add(1)
        .map(DateTime::from_millis)
}

impl IntoTimeRange for TimeRange {
    fn into_time_range(self) -> TimeRange {
        self
    }
}

impl IntoTimeRange for RangeFull {
    fn into_time_range(self) -> TimeRange {
        TimeRange::ALL
    }
}

impl<D: BucketTime> IntoTimeRange for Range<D> {
    fn into_time_range(self) -> TimeRange {
        TimeRange::new(
            Some(self.start.to_bson_date()),
            Some(self.end.to_bson_date()),
        )
    }
}

impl<D: BucketTime> IntoTimeRange for RangeFrom<D> {
    fn into_time_range(self) -> TimeRange {
        TimeRange::new(Some(self.start.to_bson_date()), None)
    }
}

impl<D: BucketTime> IntoTimeRange for RangeTo<D> {
    fn into_time_range(self) -> TimeRange {
        TimeRange::new(None, Some(self.end.to_bson_date()))
    }
}

impl<D: BucketTime> IntoTimeRange for RangeInclusive<D> {
    fn into_time_range(self) -> TimeRange {
        TimeRange::new(
            Some(self.start().to_bson_date()),
            behind(self.end().to_bson_date()),
        )
    }
}

impl<D: BucketTime> IntoTimeRange for RangeToInclusive<D> {
    fn into_time_range(self) -> TimeRange {
        TimeRange::new(None, behind(self.end.to_bson_date()))
    }
}
