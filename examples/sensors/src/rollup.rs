//! A rollup as the app shows it: each step with the number of readings and the spread of their
//! values.

use bucket_mongo::{Buckets, Fill, Filled, Interval, RollupRow, TimeRange, bson::DateTime};
use example_kit::{Error, text};
use serde::Serialize;

use crate::{
    chart::{Point, Series},
    model::{Reading, ReadingStats},
    sensor::Sensor,
};

/// The steps of a rollup, and how many buckets were read for them.
#[derive(Debug, Default)]
pub(crate) struct Rollup {
    /// In time order; steps that the caller left out are absent.
    pub(crate) steps: Vec<Step>,
    pub(crate) buckets: u64,
    /// The number of buckets whose readings were read.
    pub(crate) opened: u64,
}

/// A step and its values.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) readings: u64,
    pub(crate) point: Point,
}

/// A step in JSON.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    start: String,
    end: String,
    readings: u64,
    min: Option<f64>,
    max: Option<f64>,
    average: Option<f64>,
    /// Whether the average was filled in.
    filled: bool,
}

impl From<&Step> for Row {
    fn from(step: &Step) -> Self {
        let Point {
            start,
            end,
            min,
            average,
            max,
            is_filled,
        } = step.point;
        Self {
            start: text::date(start),
            end: text::date(end),
            readings: step.readings,
            min,
            max,
            average,
            filled: is_filled,
        }
    }
}

/// Reads the steps of a sensor and a bounded span of time.
pub(crate) async fn read(
    buckets: &Buckets<Reading>,
    sensor: &Sensor,
    range: TimeRange,
    every: &Interval,
    fill: Fill,
) -> Result<Rollup, Error> {
    let rollup = buckets
        .rollup(sensor.key(), range, every.clone())
        .fill(fill)
        .await?;
    // Both are in time order; a step without readings may be in only one of them.
    let mut rows = rollup.rows().iter().peekable();
    let averages = rollup.series(ReadingStats::avg);
    let step = |average: Filled| {
        while rows.next_if(|row| row.start() < average.at).is_some() {}
        let row = rows.next_if(|row| row.start() == average.at);
        let stats = row.and_then(|row| row.stats());
        Step {
            readings: row.map_or(0, RollupRow::count),
            point: Point {
                start: average.at,
                end: row.map_or_else(|| every.span(average.at).1, RollupRow::end),
                min: stats.and_then(ReadingStats::min),
                average: average.value,
                max: stats.and_then(ReadingStats::max),
                is_filled: average.is_filled,
            },
        }
    };
    Ok(Rollup {
        steps: averages.into_iter().map(step).collect(),
        buckets: rollup.buckets(),
        opened: rollup.scanned_buckets(),
    })
}

/// The span with its missing bounds filled in: those of the sensor's readings. None if it has no
/// readings.
pub(crate) async fn bounded(
    buckets: &Buckets<Reading>,
    sensor: &Sensor,
    range: TimeRange,
) -> Result<Option<TimeRange>, Error> {
    let start = if range.start().is_some() {
        range.start()
    } else {
        let first = buckets.records(sensor.key()).limit(1).await?;
        first.records().first().map(|reading| reading.timestamp)
    };
    let end = if range.end().is_some() {
        range.end()
    } else {
        let latest = buckets.latest(sensor.key()).await?;
        latest.map(|reading| behind(reading.timestamp))
    };
    let bounded = TimeRange::new(start, end);
    // A bound from the caller may be beyond all readings.
    let has_both = start.is_some() && end.is_some() && !bounded.is_reversed();
    Ok(has_both.then_some(bounded))
}

/// The next millisecond. No reading is as late as the last possible moment.
fn behind(date: DateTime) -> DateTime {
    DateTime::from_millis(date.timestamp_millis().saturating_add(1))
}

impl Rollup {
    /// Whether no step has a value.
    pub(crate) fn is_empty(&self) -> bool {
        self.steps.iter().all(|step| step.point.average.is_none())
    }

    /// The series to draw.
    pub(crate) fn series(&self, sensor: &Sensor, every: &Interval) -> Series {
        Series {
            title: format!("{sensor} by {every}"),
            unit: String::new(),
            points: self.steps.iter().map(|step| step.point).collect(),
        }
    }
}
