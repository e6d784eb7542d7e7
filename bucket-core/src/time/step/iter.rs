//! The steps of a span of time.

use std::iter::FusedIterator;

use bson::DateTime;

use super::Interval;
use crate::time::range::TimeRange;

/// The starts and ends of the steps that a span of time touches; see [`Interval::steps`].
#[derive(Debug, Clone)]
#[must_use]
pub struct Steps {
    every: Interval,
    /// A moment of the next step, and the last moment of the range.
    left: Option<(DateTime, DateTime)>,
}

impl Interval {
    /// The steps that a span of time touches, in order. The first and the last reach beyond the
    /// span unless it starts and ends with them. An unbounded side extends to the end of time; call
    /// [`count_in`](Self::count_in) first to learn the number of steps.
    ///
    /// ```
    /// use bson::DateTime;
    /// use bucket_core::{Interval, IntoTimeRange};
    ///
    /// let range = DateTime::from_millis(59_999)..DateTime::from_millis(120_001);
    /// let starts = Interval::minutes(1).steps(range.into_time_range()).map(|(start, _)| start);
    /// let starts: Vec<i64> = starts.map(DateTime::timestamp_millis).collect();
    /// assert_eq!(starts, [0, 60_000, 120_000]);
    /// ```
    pub fn steps(&self, range: TimeRange) -> Steps {
        Steps {
            every: self.clone(),
            left: ends(range),
        }
    }

    /// The number of steps that a span of time touches, without iterating over them. Days that a
    /// zone left out count as well.
    ///
    /// ```
    /// use bson::DateTime;
    /// use bucket_core::{Interval, IntoTimeRange, TimeRange};
    ///
    /// let range = DateTime::from_millis(59_999)..DateTime::from_millis(120_001);
    /// assert_eq!(Interval::minutes(1).count_in(range.into_time_range()), 3);
    /// assert!(Interval::year().count_in(TimeRange::ALL) > 500_000_000);
    /// ```
    #[must_use]
    pub fn count_in(&self, range: TimeRange) -> u64 {
        ends(range).map_or(0, |(first, last)| {
            let steps = self.number(last) - self.number(first) + 1;
            u64::try_from(steps).unwrap_or(u64::MAX)
        })
    }
}

/// The first and the last moment of a range; `None` if it is empty.
fn ends(range: TimeRange) -> Option<(DateTime, DateTime)> {
    let first = range.start().unwrap_or(DateTime::MIN);
    let last = match range.end() {
        Some(end) => DateTime::from_millis(end.timestamp_millis().checked_sub(1)?),
        None => DateTime::MAX,
    };
    (first <= last).then_some((first, last))
}

impl Iterator for Steps {
    type Item = (DateTime, DateTime);

    fn next(&mut self) -> Option<Self::Item> {
        let (at, last) = self.left?;
        let (start, end) = self.every.span(at);
        // A step that is cut off at the end of time includes that end.
        self.left = (at < end && end <= last && end < DateTime::MAX).then_some((end, last));
        Some((start, end))
    }
}

impl FusedIterator for Steps {}
