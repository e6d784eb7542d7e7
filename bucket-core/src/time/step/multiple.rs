//! Whether steps consist of whole windows.

use super::{Interval, Length};
use crate::time::{range::TimeRange, window::Window};

/// The check does not examine more steps than this.
const MANY: u64 = 100_000;

/// This divides the distances between midnights, and those of Mondays from 1970-01-01.
const DAY_SECONDS: u64 = 86_400;

impl Interval {
    /// Whether every such window that touches `range` is inside one step, so that whole windows can
    /// answer the steps. `false` if the answer would need more than 100,000 steps in a time zone.
    ///
    /// ```
    /// use bucket_core::{Interval, TimeRange, Window};
    ///
    /// assert!(Interval::day().is_multiple_of(Window::hours(1), TimeRange::ALL));
    /// assert!(!Interval::day().is_multiple_of(Window::hours(5), TimeRange::ALL));
    /// assert!(!Interval::month().is_multiple_of(Window::Week, TimeRange::ALL));
    /// ```
    #[must_use]
    pub fn is_multiple_of(&self, window: Window, range: TimeRange) -> bool {
        if !window.is_valid() || self.check().is_err() {
            return false;
        }
        if self.zone.is_none() {
            return self.begins_with(window);
        }
        // Zones have had offsets of odd minutes and seconds, so the bounds themselves are checked.
        let begins = |bound| window.span(bound).0 == bound;
        self.count_in(range) <= MANY
            && self
                .steps(range)
                .all(|(start, end)| begins(start) && begins(end))
    }

    /// Whether all UTC steps begin where a window begins.
    fn begins_with(&self, window: Window) -> bool {
        match (self.length, window) {
            (Length::Fixed(step), Window::Seconds(window)) => step.is_multiple_of(window.into()),
            (Length::Fixed(step), Window::Day) => step.is_multiple_of(DAY_SECONDS),
            (_, Window::Seconds(window)) => DAY_SECONDS.is_multiple_of(window.into()),
            (_, Window::Day)
            | (Length::Week, Window::Week)
            | (Length::Months(_), Window::Month) => true,
            (_, Window::Week | Window::Month) => false,
        }
    }
}
