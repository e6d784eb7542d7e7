//! The steps of a span of time.

use std::iter::FusedIterator;

use bson::DateTime;

use super::Every;
use crate::range::TimeRange;

/// The starts and ends of the steps that a span of time touches; see [`Every::steps`].
#[derive(Debug, Clone)]
#[must_use]
pub struct Steps {
    every: Every,
    /// A moment of the next step, and the last moment of the range.
    left: Option<(DateTime, DateTime)>,
}

/// The first and the last moment of a range; none if it is empty.
pub(super) fn ends(range: TimeRange) -> Option<(DateTime, DateTime)> {
    let first = range.start().unwrap_or(DateTime::MIN);
    let last = match range.end() {
        Some(end) => DateTime::from_millis(end.timestamp_millis().checked_sub(1)?),
        None => DateTime::MAX,
    };
    (first <= last).then_some((first, last))
}

impl Steps {
    pub(super) fn new(every: Every, range: TimeRange) -> Self {
        Self {
            every,
            left: ends(range),
        }
    }
}

impl Iterator for Steps {
    type Item = (DateTime, DateTime);

    fn next(&mut self) -> Option<Self::Item> {
        let (at, last) = self.left?;
        let (start, end) = self.every.span(at);
        // A step that is cut off at the end of time holds that end.
        self.left = (at < end && end <= last && end < DateTime::MAX).then_some((end, last));
        Some((start, end))
    }
}

impl FusedIterator for Steps {}
