//! Rollups in plain Rust.

use bucket_core::{Form, Record};
use bucket_mongo::{
    Bucketed, Buckets, Fill, Interval, Rollup, TimeRange, bson::DateTime, testing::TestDatabase,
};
use bucket_tests::database;
use jiff::{Timestamp, ToSpan};

use crate::common::{
    as_bucket::as_bucket,
    drawn_records::key,
    expected::stored,
    naive,
    sample::{Sample, SampleBucket},
};

pub(crate) fn at(millis: i64) -> DateTime {
    DateTime::from_millis(millis)
}

pub(crate) fn between(start: i64, end: i64) -> TimeRange {
    TimeRange::new(Some(at(start)), Some(at(end)))
}

/// Steps, found without the library: fixed ones by a division, calendar ones from the calendar and
/// the local clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cut {
    Seconds(u32),
    Day(&'static str),
    Week(&'static str),
    Month(&'static str),
}

impl Cut {
    pub(crate) fn every(self) -> Interval {
        match self {
            Self::Seconds(seconds) => Interval::seconds(seconds),
            Self::Day(zone) => Interval::day().in_zone(zone).unwrap(),
            Self::Week(zone) => Interval::week().in_zone(zone).unwrap(),
            Self::Month(zone) => Interval::month().in_zone(zone).unwrap(),
        }
    }

    /// The step of a moment.
    pub(crate) fn span(self, moment: DateTime) -> (DateTime, DateTime) {
        let millis = moment.timestamp_millis();
        let zone = match self {
            Self::Seconds(seconds) => {
                let length = i64::from(seconds) * 1_000;
                let start = millis.div_euclid(length) * length;
                return (at(start), at(start + length));
            }
            Self::Day(zone) | Self::Week(zone) | Self::Month(zone) => zone,
        };
        let shown = Timestamp::from_millisecond(millis).unwrap().in_tz(zone);
        let day = shown.unwrap().date();
        let (first, next) = match self {
            Self::Week(_) => {
                let since_monday = day.weekday().to_monday_zero_offset();
                let monday = day - i64::from(since_monday).days();
                (monday, monday + 7.days())
            }
            Self::Month(_) => (day.first_of_month(), day.last_of_month() + 1.day()),
            _ => (day, day + 1.day()),
        };
        let [start, end] = [first, next].map(|midnight| {
            let midnight = midnight.in_tz(zone).unwrap().timestamp();
            at(midnight.as_millisecond())
        });
        (start, end)
    }

    /// The steps that a range touches.
    pub(crate) fn steps(self, range: TimeRange) -> Vec<(DateTime, DateTime)> {
        let (mut next, end) = (range.start().unwrap(), range.end().unwrap());
        let mut steps = Vec::new();
        while next < end {
            let step = self.span(next);
            steps.push(step);
            next = step.1;
        }
        steps
    }
}

/// The records of the key `1`, and the buckets that they are in.
pub(crate) struct Known<const F: usize> {
    pub(crate) records: Vec<Sample<F>>,
    stored: Vec<SampleBucket<F>>,
    /// The window that a read assumes, in seconds.
    window: u32,
}

impl<const F: usize> Known<F> {
    pub(crate) async fn new(buckets: &Buckets<Sample<F>>, records: Vec<Sample<F>>) -> Self {
        Self {
            stored: stored(buckets, "1").await,
            records,
            window: 1,
        }
    }

    /// The same for a handle whose limits give windows this length.
    pub(crate) fn with_window(self, seconds: u32) -> Self {
        Self {
            window: seconds,
            ..self
        }
    }

    /// The records of a step that are in the range.
    pub(crate) fn inside(
        &self,
        range: TimeRange,
        (start, end): (DateTime, DateTime),
    ) -> Vec<&Sample<F>> {
        let inside = |at| range.contains(at) && start <= at && at < end;
        let records = self.records.iter();
        records.filter(|record| inside(record.at)).collect()
    }

    /// The buckets with records in the range, and how many of them are not read from their
    /// aggregates.
    pub(crate) fn buckets(&self, cut: Cut, range: TimeRange) -> (u64, u64) {
        let any_inside =
            |bucket: &&SampleBucket<F>| bucket.items.iter().any(|item| range.contains(item.at));
        let buckets: Vec<_> = self.stored.iter().filter(any_inside).collect();
        let is_window = matches!(Sample::<F>::SPEC.form(), Form::Window { .. });
        // If steps cut every window, all of them are opened.
        let all = is_window && matches!(cut, Cut::Seconds(step) if step < self.window);
        let is_cut = |bucket: &&&SampleBucket<F>| {
            let (first, last) = reach(bucket);
            let outside = !range.contains(first) || !range.contains(last);
            all || outside || cut.span(first) != cut.span(last)
        };
        let opened = buckets.iter().filter(is_cut).count();
        [buckets.len(), opened]
            .map(|number| u64::try_from(number).unwrap())
            .into()
    }

    /// Reads a rollup without empty steps and with them, and compares both.
    pub(crate) async fn check(&self, buckets: &Buckets<Sample<F>>, cut: Cut, range: TimeRange) {
        for fill in [Fill::Skip, Fill::Null] {
            let query = buckets.rollup(key("1"), range, cut.every()).fill(fill);
            let rollup = query.await.unwrap();
            self.compare(&rollup, cut, range, fill);
            let read = (rollup.buckets(), rollup.scanned_buckets());
            assert_eq!(read, self.buckets(cut, range), "{cut:?} of {range:?}");
        }
    }

    pub(crate) fn compare(
        &self,
        rollup: &Rollup<Sample<F>>,
        cut: Cut,
        range: TimeRange,
        fill: Fill,
    ) {
        let mut expected = cut.steps(range);
        if fill == Fill::Skip {
            expected.retain(|step| !self.inside(range, *step).is_empty());
        }
        let rows = rollup.rows();
        let steps: Vec<_> = rows.iter().map(|row| (row.start(), row.end())).collect();
        assert_eq!(steps, expected, "{cut:?} of {range:?}");
        for (row, step) in rows.iter().zip(expected) {
            let records = self.inside(range, step);
            let number = u64::try_from(records.len()).unwrap();
            assert_eq!(row.count(), number, "{cut:?} of {range:?}: {step:?}");
            match row.stats() {
                None => assert!(records.is_empty()),
                Some(stats) => {
                    assert!(!records.is_empty());
                    naive::check(&as_bucket(key("1"), &records, stats.clone()));
                }
            }
        }
    }
}

/// The first and the last moment of a bucket, according to its fields.
fn reach<const F: usize>(bucket: &SampleBucket<F>) -> (DateTime, DateTime) {
    let times = || bucket.items.iter().map(|item| item.at);
    match Sample::<F>::SPEC.form() {
        Form::Window { .. } => {
            let last = bucket.fields.end.timestamp_millis() - 1;
            (bucket.fields.start, at(last))
        }
        Form::Hybrid { .. } => (bucket.fields.start, bucket.fields.end),
        _ => (times().min().unwrap(), times().max().unwrap()),
    }
}

/// A database with these records, stored by several calls, and others of another key.
pub(crate) async fn filled<const F: usize>(
    records: &[Sample<F>],
) -> (TestDatabase, Buckets<Sample<F>>) {
    let database = database().await;
    let buckets = Sample::<F>::buckets(&database);
    buckets.ensure().await.unwrap();
    store(&buckets, records).await;
    let others = records.iter().step_by(9).map(|record| Sample {
        device: "12".to_owned(),
        ..record.clone()
    });
    store(&buckets, &others.collect::<Vec<_>>()).await;
    (database, buckets)
}

pub(crate) async fn store<const F: usize>(buckets: &Buckets<Sample<F>>, records: &[Sample<F>]) {
    for some in records.chunks(90) {
        let report = buckets.insert_many(some).await.unwrap();
        report.into_result().unwrap();
    }
}
