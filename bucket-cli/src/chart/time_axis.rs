//! The axis of time: ticks where steps of the clock or of the calendar begin, in UTC.

use bucket_mongo::{Interval, TimeRange, bson::DateTime};

use crate::text;

#[derive(Debug)]
pub(super) struct TimeAxis {
    start: DateTime,
    end: DateTime,
}

/// The part of `2014-02-14T14:30:00.000Z` that a label shows: its start and its end.
type Shown = (usize, usize);

const SECONDS: Shown = (11, 19);
const MINUTES: Shown = (11, 16);
const DAYS: Shown = (5, 10);
const MONTHS: Shown = (0, 7);
const YEARS: Shown = (0, 4);

/// The distances that ticks may have.
const STEPS: [(Interval, Shown); 17] = [
    (Interval::seconds(1), SECONDS),
    (Interval::seconds(5), SECONDS),
    (Interval::seconds(15), SECONDS),
    (Interval::minutes(1), MINUTES),
    (Interval::minutes(5), MINUTES),
    (Interval::minutes(15), MINUTES),
    (Interval::minutes(30), MINUTES),
    (Interval::hours(1), MINUTES),
    (Interval::hours(3), MINUTES),
    (Interval::hours(6), MINUTES),
    (Interval::hours(12), MINUTES),
    (Interval::day(), DAYS),
    (Interval::hours(48), DAYS),
    (Interval::week(), DAYS),
    (Interval::month(), MONTHS),
    (Interval::quarter(), MONTHS),
    (Interval::year(), YEARS),
];

impl TimeAxis {
    pub(super) fn new(start: DateTime, end: DateTime) -> Self {
        Self { start, end }
    }

    /// The position of a moment, from 0 at the start to 1 at the end.
    pub(super) fn part(&self, date: DateTime) -> f64 {
        let length = millis(self.start, self.end).max(1.0);
        (millis(self.start, date) / length).clamp(0.0, 1.0)
    }

    /// At most `most` ticks, each with its position and its label. There are none on spans of very
    /// many years or few milliseconds.
    pub(super) fn ticks(&self, most: u64) -> Vec<(f64, String)> {
        let range = TimeRange::new(Some(self.start), Some(self.end));
        let step = STEPS
            .into_iter()
            .find(|(every, _)| every.count_in(range) <= most);
        let Some((every, (from, to))) = step else {
            return Vec::new();
        };
        let starts = every.steps(range).map(|(start, _)| start);
        let within = starts.filter(|start| self.start <= *start);
        let tick = |date: DateTime| {
            let label = text::date(date);
            // For midnight, the date says more than the time.
            let midnight = from == MINUTES.0 && label.ends_with("T00:00:00.000Z");
            let (from, to) = if midnight { DAYS } else { (from, to) };
            // A date without an RFC 3339 form is shown in milliseconds.
            let shown = label.get(from..to).filter(|_| label.ends_with('Z'));
            (self.part(date), shown.unwrap_or(&label).to_owned())
        };
        within.map(tick).collect()
    }
}

#[allow(clippy::cast_precision_loss, reason = "a place in a picture")]
fn millis(from: DateTime, to: DateTime) -> f64 {
    (i128::from(to.timestamp_millis()) - i128::from(from.timestamp_millis())) as f64
}
