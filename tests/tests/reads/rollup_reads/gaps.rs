//! What happens to steps without records: at the beginning, in the middle and at the end of the
//! range.

use bucket_core::stats::StoredStats;
use bucket_mongo::{Bucketed, Buckets, Fill, Record, TimeRange, bson::DateTime};
use bucket_tests::{database, date};
use serde::{Deserialize, Serialize};

use super::model::{Cut, at, between, filled};
use crate::common::{
    drawn_records::{key, record},
    sample::{self, Sample},
};

const FILLS: [Fill; 4] = [Fill::Skip, Fill::Null, Fill::Previous, Fill::Linear];

/// A point: its time, its value, and whether that was filled in.
type Point = (DateTime, Option<f64>, bool);

/// The times of records, and a value for each that has one.
struct Values {
    all: Vec<(DateTime, Option<f64>)>,
    /// The aggregate of several values.
    fold: fn(&[f64]) -> f64,
}

impl Values {
    fn of(&self, range: TimeRange, (start, end): (DateTime, DateTime)) -> Option<f64> {
        let inside = |at: DateTime| range.contains(at) && start <= at && at < end;
        let values = self.all.iter().filter(|(at, _)| inside(*at));
        let values: Vec<f64> = values.filter_map(|(_, value)| *value).collect();
        (!values.is_empty()).then(|| (self.fold)(&values))
    }

    /// The value of the last step with records before the range, as far as the step is before it.
    fn before(&self, cut: Cut, start: DateTime) -> Option<f64> {
        let before = self.all.iter().map(|(at, _)| *at).filter(|at| *at < start);
        self.of(TimeRange::new(None, Some(start)), cut.span(before.max()?))
    }

    /// The series in plain Rust.
    fn series(&self, cut: Cut, range: TimeRange, fill: Fill) -> Vec<Point> {
        let steps = cut.steps(range);
        let known: Vec<Option<f64>> = steps.iter().map(|step| self.of(range, *step)).collect();
        let mut points = Vec::new();
        for (index, (start, _)) in steps.iter().enumerate() {
            let left = (0..index).rev().find_map(|left| Some((left, known[left]?)));
            let right = (index..steps.len()).find_map(|right| Some((right, known[right]?)));
            let made_up = match fill {
                Fill::Previous => left
                    .map(|(_, value)| value)
                    .or_else(|| self.before(cut, range.start().unwrap())),
                Fill::Linear => left.zip(right).map(|((left, from), (right, to))| {
                    let millis = |index: usize| {
                        let date: DateTime = steps[index].0;
                        i128::from(date.timestamp_millis())
                    };
                    #[allow(clippy::cast_precision_loss, reason = "far below 53 bits")]
                    let [passed, length] =
                        [index, right].map(|to| (millis(to) - millis(left)) as f64);
                    from + (to - from) * passed / length
                }),
                _ => None,
            };
            match known[index] {
                None if fill == Fill::Skip => {}
                None => points.push((*start, made_up, made_up.is_some())),
                value => points.push((*start, value, false)),
            }
        }
        points
    }

    fn check(&self, found: &[Point], cut: Cut, range: TimeRange, fill: Fill) {
        let expected = self.series(cut, range, fill);
        let same = found.len() == expected.len()
            && found.iter().zip(&expected).all(|(found, expected)| {
                let near = match (found.1, expected.1) {
                    (Some(one), Some(other)) => (one - other).abs() <= 1e-9 * one.abs().max(1.0),
                    (one, other) => one.is_none() && other.is_none(),
                };
                near && (found.0, found.2) == (expected.0, expected.2)
            });
        assert!(
            same,
            "{fill:?}, {cut:?} of {range:?}: {found:?}, not {expected:?}"
        );
    }
}

/// Moments with records, in steps from three before `start` on: the first, the sixth, the seventh
/// and the eleventh have records, at their start, middle and end.
fn moments(cut: Cut, start: DateTime) -> Vec<i64> {
    let mut step = cut.span(start);
    for _ in 0..3 {
        step = cut.span(at(step.0.timestamp_millis() - 1));
    }
    let mut moments = Vec::new();
    for index in 0..11 {
        let [start, end] = [step.0, step.1].map(DateTime::timestamp_millis);
        if [0, 5, 6, 10].contains(&index) {
            moments.extend([start, i64::midpoint(start, end), end - 1]);
        }
        step = cut.span(step.1);
    }
    moments
}

/// Steps, and where the range begins.
fn cases() -> [(Cut, DateTime); 3] {
    [
        (Cut::Seconds(5), at(0)),
        (Cut::Seconds(3_600), date("1969-12-31T20:00:00Z")),
        (Cut::Month("Europe/Berlin"), date("2025-12-31T23:00:00Z")),
    ]
}

/// Around everything, from the middle of steps, before everything, after everything.
fn ranges(cut: Cut, start: DateTime) -> Vec<TimeRange> {
    let moments = moments(cut, start);
    let (first, last) = (moments[0], moments[11]);
    let far = (last - first) / 2;
    let starts = [
        start.timestamp_millis(),
        first - 1,
        // Parts of the steps are before the range.
        moments[1],
        moments[1] + 1,
        moments[4],
        moments[5] + 1,
        moments[10] + 1,
        last + far,
    ];
    let mut ranges: Vec<_> = starts.map(|start| between(start, last + 2 * far)).into();
    ranges.push(between(first - far, first));
    ranges.push(between(first - far, moments[4]));
    // In the middle of a step, with records of it on both sides.
    let within = [(1, 2), (4, 5), (7, 8), (10, 11)];
    ranges.extend(within.map(|(from, to)| between(moments[from] + 1, moments[to])));
    ranges
}

fn float(value: i64) -> f64 {
    f64::from(i32::try_from(value).unwrap())
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::MIN, f64::max)
}

fn sum(values: &[f64]) -> f64 {
    values.iter().sum()
}

async fn check<T: Bucketed>(
    buckets: &Buckets<T>,
    key: impl Fn() -> T::Key,
    (cut, start): (Cut, DateTime),
    values: &Values,
    value: impl Fn(&T::Stats) -> Option<f64>,
) {
    for range in ranges(cut, start) {
        for fill in FILLS {
            let query = buckets.rollup(key(), range, cut.every()).fill(fill);
            let rollup = query.await.unwrap();
            let points: Vec<Point> = rollup
                .series(&value)
                .iter()
                .map(|point| (point.at, point.value, point.is_filled))
                .collect();
            values.check(&points, cut, range, fill);
        }
    }
}

async fn gaps_are_filled<const F: usize>() {
    for (cut, start) in cases() {
        let moments = moments(cut, start);
        // The third step never has a level.
        let numbers = [0, 1, 2, 3, 4, 7, 10, 11, 15, 8, 9, 12];
        let records = numbers.iter().zip(&moments);
        let records: Vec<Sample<F>> = records.map(|(n, at)| record("1", *at, *n)).collect();
        let (_database, buckets) = filled(&records).await;
        let values = records
            .iter()
            .map(|each| (each.at, Some(float(each.value))));
        let values = Values {
            all: values.collect(),
            fold: largest,
        };
        let max = |stats: &StoredStats| stats.value::<i64>(sample::at::MAX).map(float);
        check(&buckets, || key("1"), (cut, start), &values, max).await;
        let levels = records.iter().map(|each| {
            let level = each.level.filter(|level| level.is_finite());
            (each.at, level)
        });
        let levels = Values {
            all: levels.collect(),
            fold: sum,
        };
        let sum = |stats: &StoredStats| {
            let number = stats.count(sample::at::LEVEL_COUNT);
            stats
                .sum::<f64>(sample::at::LEVEL_SUM)
                .filter(|_| number > 0)
        };
        check(&buckets, || key("1"), (cut, start), &levels, sum).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn gaps_of_windows_are_filled() {
    gaps_are_filled::<{ sample::WINDOW }>().await;
    gaps_are_filled::<{ sample::WINDOW_OBJECT }>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn gaps_of_hybrid_buckets_are_filled() {
    gaps_are_filled::<{ sample::HYBRID_MERGE }>().await;
    gaps_are_filled::<{ sample::HYBRID_SIDE }>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn gaps_of_counted_buckets_are_filled() {
    gaps_are_filled::<{ sample::COUNT }>().await;
    gaps_are_filled::<{ sample::NUMBERED }>().await;
}

macro_rules! without_times {
    ($($name:ident: [$($attributes:tt)*], $test:ident;)+) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "plain", items = "items", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            device: i64,
            #[bucket(time)]
            at: DateTime,
            #[bucket(max)]
            value: i64,
        }

        /// The buckets do not store the times of their records.
        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            for (cut, start) in cases() {
                let database = database().await;
                let buckets = $name::buckets(&database);
                buckets.ensure().await.unwrap();
                let moments = moments(cut, start).into_iter().zip([3, 9, 4, 1, 12, 8, 5, 2, 7, 6, 11, 10]);
                let records = moments.map(|(millis, value)| $name { device: 1, at: at(millis), value });
                let mut records: Vec<$name> = records.collect();
                // Not in time order.
                records.rotate_left(5);
                buckets.insert_many(&records).await.unwrap().into_result().unwrap();
                let values = records.iter().map(|each| (each.at, Some(float(each.value))));
                let values = Values { all: values.collect(), fold: largest };
                let max = |stats: &<$name as Record>::Stats| stats.value().max().map(float);
                check(&buckets, || 1.into(), (cut, start), &values, max).await;
            }
        }
    )+};
}

without_times! {
    Counted: [capacity = 5], gaps_of_counted_buckets_without_times_are_filled;
    Numbered: [capacity = 5, numbered], gaps_of_numbered_buckets_without_times_are_filled;
}
