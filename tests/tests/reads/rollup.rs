//! Rollups: the statistics of a span of time, step by step.

use bucket_core::step::Filled;
use bucket_mongo::{
    Bucketed, Buckets, ErrorKind, Fill, Interval, Rollup, RollupRow,
    bson::{DateTime, Document, doc},
    testing::TestDatabase,
};
use bucket_tests::{PATIENCE, database, date, profiled};

use crate::common::iot::{DEVICE, Iot, at, iot};

fn float(value: i64) -> f64 {
    f64::from(i32::try_from(value).unwrap())
}

/// A reading every ten minutes whose value is its minute, at these minutes.
async fn every_ten_minutes(minutes: &[(i64, i64)]) -> (TestDatabase, Buckets<Iot>) {
    let database = database().await;
    let buckets = Iot::buckets(&database);
    buckets.ensure().await.unwrap();
    let minutes = minutes.iter().flat_map(|(from, to)| *from..*to);
    let readings = minutes
        .filter(|minute| minute % 10 == 0)
        .map(|minute| iot(at(minute), float(minute)));
    let report = buckets.insert_many(readings.collect::<Vec<_>>()).await;
    report.unwrap().into_result().unwrap();
    (database, buckets)
}

/// Start and end of each row, number and sum.
fn rows(rollup: &Rollup<Iot>) -> Vec<(DateTime, DateTime, u64, Option<f64>)> {
    let rows = rollup.rows().iter();
    rows.map(|row| {
        let sum = row.stats().and_then(|stats| stats.value().sum());
        (row.start(), row.end(), row.count(), sum)
    })
    .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_of_full_windows_open_only_the_edges() {
    let (_database, buckets) = every_ten_minutes(&[(0, 600)]).await;
    let rollup = buckets
        .rollup(DEVICE.to_owned(), at(0)..at(600), Interval::hours(2))
        .await
        .unwrap();
    assert_eq!((rollup.buckets(), rollup.scanned_buckets()), (10, 0));
    let sum = |from: i64, to: i64| {
        (from..to)
            .filter(|minute| minute % 10 == 0)
            .map(float)
            .sum()
    };
    let whole = |n: i64| {
        let (from, to) = (n * 120, n * 120 + 120);
        (at(from), at(to), 12, Some(sum(from, to)))
    };
    assert_eq!(rows(&rollup), (0..5).map(whole).collect::<Vec<_>>());
    let rollup = buckets
        .rollup(DEVICE.to_owned(), at(30)..at(571), Interval::hours(2))
        .await
        .unwrap();
    assert_eq!((rollup.buckets(), rollup.scanned_buckets()), (10, 2));
    let mut expected: Vec<_> = (0..5).map(whole).collect();
    expected[0] = (at(0), at(120), 9, Some(sum(30, 120)));
    expected[4] = (at(480), at(600), 10, Some(sum(480, 571)));
    assert_eq!(rows(&rollup), expected);
    let average = rollup.rows()[1].stats().unwrap().value().avg();
    assert_eq!(average, Some(sum(120, 240) / 12.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn buckets_that_steps_cut_are_opened_and_no_others() {
    let (database, buckets) = every_ten_minutes(&[(0, 600)]).await;
    for (every, opened, finds) in [
        // Some windows are cut. One find looks for ids that are none of the key's.
        (Interval::minutes(90), 3, 3),
        (Interval::minutes(144), 4, 3),
        // All of them.
        (Interval::minutes(20), 10, 2),
        (Interval::minutes(60), 0, 2),
        (Interval::day(), 0, 2),
    ] {
        let query = buckets.rollup(DEVICE.to_owned(), at(0)..at(600), every.clone());
        let (rollup, profile) = profiled(&database, "iot_buckets", query.into_future()).await;
        let rollup = rollup.unwrap();
        assert_eq!(
            (rollup.buckets(), rollup.scanned_buckets()),
            (10, opened),
            "{every}"
        );
        assert_eq!(profile.len(), finds, "{every}");
        for find in profile {
            let [examined, returned, keys] = ["docsExamined", "nreturned", "keysExamined"]
                .map(|name| find.get_i32(name).unwrap());
            assert_eq!(examined, returned, "{every}");
            // For a lookup by id, the server also examines the key after each one.
            let filter = find
                .get_document("command")
                .unwrap()
                .get_document("filter")
                .unwrap();
            let by_ids = filter
                .get_document("_id")
                .is_ok_and(|ids| ids.contains_key("$in"));
            let most = if by_ids { 2 * returned } else { returned + 2 };
            assert!(keys <= most, "{every}: {keys} keys");
            assert!(find.get_str("planSummary").unwrap().starts_with("IXSCAN"));
        }
        for (start, end, count, sum) in rows(&rollup) {
            let minutes = (0..600).step_by(10);
            let inside: Vec<i64> = minutes
                .filter(|minute| (start..end).contains(&at(*minute)))
                .collect();
            assert_eq!(count, u64::try_from(inside.len()).unwrap(), "{every}");
            assert_eq!(sum, Some(inside.into_iter().map(float).sum()), "{every}");
        }
    }
}

fn points(series: &[Filled]) -> Vec<(DateTime, Option<f64>, bool)> {
    series
        .iter()
        .map(|point| (point.at, point.value, point.is_filled))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn gaps_are_filled_as_requested() {
    let (_database, buckets) = every_ten_minutes(&[(60, 70), (180, 190), (360, 370)]).await;
    let series = async |from: i64, fill: Fill| {
        let query = buckets.rollup(DEVICE.to_owned(), at(from)..at(480), Interval::hours(1));
        let rollup = query.fill(fill).await.unwrap();
        let number = if fill == Fill::Skip { 2 } else { 6 };
        assert_eq!(rollup.rows().len(), number);
        assert_eq!(rollup.buckets(), 2);
        points(&rollup.series(|stats| stats.value().avg()))
    };
    let known = |hour: i64, value| (at(hour * 60), Some(value), false);
    let filled = |hour: i64, value| (at(hour * 60), Some(value), true);
    let none = |hour: i64| (at(hour * 60), None, false);
    let skip = series(120, Fill::Skip).await;
    assert_eq!(skip, [known(3, 180.0), known(6, 360.0)]);
    let null = series(120, Fill::Null).await;
    let expected = [
        none(2),
        known(3, 180.0),
        none(4),
        none(5),
        known(6, 360.0),
        none(7),
    ];
    assert_eq!(null, expected);
    let previous = series(120, Fill::Previous).await;
    let expected = [
        filled(2, 60.0),
        known(3, 180.0),
        filled(4, 180.0),
        filled(5, 180.0),
        known(6, 360.0),
        filled(7, 360.0),
    ];
    assert_eq!(previous, expected);
    let linear = series(120, Fill::Linear).await;
    let expected = [
        none(2),
        known(3, 180.0),
        filled(4, 240.0),
        filled(5, 300.0),
        known(6, 360.0),
        none(7),
    ];
    assert_eq!(linear, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_previous_value_is_that_of_the_last_step_before_the_range() {
    let (_database, buckets) = every_ten_minutes(&[(60, 120), (240, 300)]).await;
    let first = async |from: i64, every: Interval| {
        let query = buckets.rollup(DEVICE.to_owned(), at(from)..at(660), every);
        let rollup = query.fill(Fill::Previous).await.unwrap();
        rollup.series(|stats| stats.value().max())[0].value
    };
    assert_eq!(first(180, Interval::hours(1)).await, Some(110.0));
    assert_eq!(first(600, Interval::hours(1)).await, Some(290.0));
    assert_eq!(first(600, Interval::minutes(20)).await, Some(290.0));
    // The start of the range cuts the step of the record: the part before the start counts.
    assert_eq!(first(330, Interval::hours(6)).await, Some(290.0));
    assert_eq!(first(255, Interval::minutes(1)).await, Some(250.0));
    // The first window of the range has records only after the start.
    assert_eq!(first(0, Interval::minutes(1)).await, None);
    let query = buckets.rollup("no such".to_owned(), at(0)..at(60), Interval::minutes(20));
    let rollup = query.fill(Fill::Previous).await.unwrap();
    let series = rollup.series(|stats| stats.value().max());
    assert_eq!(series.len(), 3);
    assert!(
        series
            .iter()
            .all(|point| point.value.is_none() && !point.is_filled)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn ranges_that_cannot_be_cut_into_steps_are_refused() {
    let (_database, buckets) = every_ten_minutes(&[(0, 60)]).await;
    let key = || DEVICE.to_owned();
    for (query, expected) in [
        (
            buckets.rollup(key(), at(0).., Interval::hours(1)),
            "start and the end",
        ),
        (
            buckets.rollup(key(), ..at(0), Interval::hours(1)),
            "start and the end",
        ),
        (
            buckets.rollup(key(), .., Interval::hours(1)),
            "start and the end",
        ),
        (
            buckets.rollup(key(), at(1)..at(0), Interval::hours(1)),
            "before its start",
        ),
        (
            buckets.rollup(key(), at(0)..at(1), Interval::hours(0)),
            "at least one second",
        ),
        (
            buckets.rollup(key(), at(0)..at(1_667), Interval::seconds(1)),
            "100020 steps",
        ),
        (
            buckets.rollup(key(), DateTime::MIN..DateTime::MAX, Interval::year()),
            "a rollup takes at most 100000",
        ),
    ] {
        let error = query.await.unwrap_err();
        let ErrorKind::InvalidArgument { message, .. } = error.kind() else {
            panic!("{error:?}");
        };
        assert!(message.contains(expected), "{message}");
        assert_eq!(error.operation(), "rollup");
    }
    let most = DateTime::from_millis(0)..DateTime::from_millis(100_000_000);
    let query = buckets.rollup(key(), most, Interval::seconds(1));
    assert_eq!(query.fill(Fill::Null).await.unwrap().rows().len(), 100_000);
    let empty = buckets.rollup(key(), at(0)..at(0), Interval::hours(1));
    let empty = empty.fill(Fill::Previous).await.unwrap();
    assert!(empty.rows().is_empty() && empty.series(|_| Some(0.0)).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn days_of_a_time_zone_have_23_and_25_hours() {
    let database = database().await;
    let buckets = Iot::buckets(&database);
    buckets.ensure().await.unwrap();
    let first = date("2026-03-27T00:00:00Z").timestamp_millis();
    let readings = (0..96 * 2).map(|n| iot(DateTime::from_millis(first + n * 1_800_000), 1.0));
    let report = buckets.insert_many(readings.collect::<Vec<_>>()).await;
    report.unwrap().into_result().unwrap();
    let days = Interval::day().in_zone("Europe/Berlin").unwrap();
    let range = date("2026-03-27T23:00:00Z")..date("2026-03-30T22:00:00Z");
    let rollup = buckets
        .rollup(DEVICE.to_owned(), range, days)
        .await
        .unwrap();
    // Clocks go forward on the second day. Each window of an hour is in one day.
    assert_eq!((rollup.buckets(), rollup.scanned_buckets()), (71, 0));
    let counts: Vec<u64> = rollup.rows().iter().map(RollupRow::count).collect();
    assert_eq!(counts, [48, 46, 48]);
    assert_eq!(rollup.rows()[1].start(), date("2026-03-28T23:00:00Z"));
    assert_eq!(rollup.rows()[1].end(), date("2026-03-29T22:00:00Z"));
    // Half an hour off UTC: midnight cuts a window.
    let days = Interval::day().in_zone("Asia/Kolkata").unwrap();
    let range = date("2026-03-27T18:30:00Z")..date("2026-03-29T18:30:00Z");
    let rollup = buckets
        .rollup(DEVICE.to_owned(), range, days)
        .await
        .unwrap();
    assert_eq!((rollup.buckets(), rollup.scanned_buckets()), (49, 3));
    let counts: Vec<u64> = rollup.rows().iter().map(RollupRow::count).collect();
    assert_eq!(counts, [48, 48]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_bucket_is_a_typed_error_also_in_a_second_read() {
    let (database, buckets) = every_ten_minutes(&[(0, 180)]).await;
    let collection = database.collection::<Document>("iot_buckets");
    let second = doc! { "bucket_start": at(60) };
    let damage = doc! { "$set": { "readings": "none" } };
    collection.update_one(second, damage).await.unwrap();
    let read = async |every: Interval| {
        let query = buckets.rollup(DEVICE.to_owned(), at(0)..at(180), every);
        query.await
    };
    // Nobody reads the items.
    assert_eq!(read(Interval::hours(1)).await.unwrap().rows().len(), 3);
    for every in [Interval::minutes(90), Interval::minutes(15)] {
        let error = read(every).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Damaged(_)), "{error:?}");
    }
}

mod counted {
    use bucket_mongo::bson::DateTime;
    use serde::{Deserialize, Serialize};

    #[derive(Debug, Clone, Serialize, Deserialize, bucket_mongo::Bucketed)]
    #[bucket(collection = "counted", items = "items", capacity = 4)]
    pub(super) struct Counted {
        #[bucket(key)]
        pub(super) key: String,
        #[bucket(time, first = "first_at", last = "last_at")]
        pub(super) at: DateTime,
        #[bucket(sum)]
        pub(super) value: i64,
    }
}

use self::counted::Counted;

fn counted(key: &str, minute: i64, value: i64) -> Counted {
    let (key, at) = (key.to_owned(), at(minute));
    Counted { key, at, value }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_value_before_the_range_is_found_whatever_the_values_before_it() {
    let database = database().await;
    let buckets = Counted::buckets(&database);
    buckets.ensure().await.unwrap();
    let large = (0..40).map(|minute| counted("a", minute, i64::MAX / 4));
    let records: Vec<Counted> = large.chain([counted("a", 100, 7)]).collect();
    buckets
        .insert_many(records)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let rollup = buckets.rollup("a", at(120)..at(180), Interval::hours(1));
    let rollup = rollup.fill(Fill::Previous).await.unwrap();
    #[allow(clippy::cast_precision_loss, reason = "a small number")]
    let series = rollup.series(|stats| stats.value().sum().map(|sum| sum as f64));
    let values: Vec<Option<f64>> = series.iter().map(|point| point.value).collect();
    assert_eq!(values, [Some(7.0)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn long_keys_and_many_cut_buckets_take_several_commands() {
    let database = database().await;
    let buckets = Counted::buckets(&database);
    buckets.ensure().await.unwrap();
    let key = "k".repeat(2_000);
    // Each bucket of four has two in one step and two in the next.
    let records: Vec<Counted> = (0..35_200)
        .map(|n| counted(&key, (n + 2) / 4 * 60 + n % 4, 1))
        .collect();
    buckets
        .insert_many(records)
        .deadline(PATIENCE)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let rollup = buckets.rollup(key, at(0)..at(8_801 * 60), Interval::hours(1));
    let rollup = rollup.await.unwrap();
    let count: u64 = rollup.rows().iter().map(RollupRow::count).sum();
    assert_eq!((count, rollup.scanned_buckets()), (35_200, 8_800));
}
