//! Statistics over spans of time: the bucket tutorial's `getStats`, with the right numbers.

use bucket_mongo::{
    Bucketed, ErrorKind, RangeStats,
    bson::{DateTime, Document, doc},
};
use bucket_tests::database;
use serde::{Deserialize, Serialize};

use crate::common::iot::{DEVICE, Iot, at, iot};

/// Hours 10, 11 and 12 with 60 readings each: 10 and 15 (first and second half hour), 20 and 25,
/// 30 and 35.
fn tutorial() -> Vec<Iot> {
    (0..180)
        .map(|minute| {
            let value = 10 + minute / 60 * 10 + minute % 60 / 30 * 5;
            iot(at(600 + minute), f64::from(i32::try_from(value).unwrap()))
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tutorials_get_stats_has_the_right_numbers() {
    let database = database().await;
    let buckets = Iot::buckets(&database);
    buckets.ensure().await.unwrap();
    let report = buckets.insert_many(tutorial()).await.unwrap();
    report.into_result().unwrap();
    let other = Iot {
        device_id: "device_002".to_owned(),
        ..iot(at(660), 1e9)
    };
    buckets.insert(&other).await.unwrap();
    // The tutorial's ranges include their end: number, smallest, largest, average, opened buckets.
    for (from, to, count, min, max, avg, opened) in [
        (645, 674, 30, 15.0, 20.0, 17.5, 2),
        (660, 719, 60, 20.0, 25.0, 22.5, 1),
        (660, 720, 61, 20.0, 30.0, 22.62, 1),
        (630, 630, 1, 15.0, 15.0, 15.0, 1),
    ] {
        let range = at(from)..=at(to);
        let found = buckets.stats(DEVICE.to_owned(), range).await;
        let found: RangeStats<Iot> = found.unwrap().unwrap();
        assert_eq!(found.count(), count);
        assert_eq!(found.stats().value().min(), Some(min));
        assert_eq!(
            found.max(),
            Some(max),
            "the only field's figures are on the stats"
        );
        let average = found.avg().unwrap();
        assert!((average - avg).abs() < 0.005, "{average} is not {avg}");
        assert_eq!(found.scanned_buckets(), opened, "{from}..={to}");
    }
    // Half-open, as everywhere else: no bucket is cut.
    let hour = buckets.stats(DEVICE.to_owned(), at(660)..at(720)).await;
    let hour = hour.unwrap().unwrap();
    assert_eq!(
        (hour.count(), hour.buckets(), hour.scanned_buckets()),
        (60, 1, 0)
    );
    let all = buckets.stats(DEVICE.to_owned(), ..).await.unwrap().unwrap();
    assert_eq!(
        (all.count(), all.buckets(), all.scanned_buckets()),
        (180, 3, 0)
    );
    assert_eq!(all.sum(), Some(22.5 * 180.0));
    let long = buckets.stats(DEVICE.to_owned(), at(601)..at(779)).await;
    let long = long.unwrap().unwrap();
    assert_eq!(
        (long.count(), long.buckets(), long.scanned_buckets()),
        (178, 3, 2)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_range_gives_none_and_a_reversed_range_is_refused() {
    let database = database().await;
    let buckets = Iot::buckets(&database);
    buckets.ensure().await.unwrap();
    let stats = |range: std::ops::Range<DateTime>| buckets.stats(DEVICE.to_owned(), range);
    assert!(stats(at(0)..at(1)).await.unwrap().is_none());
    buckets.insert(&iot(at(30), 1.0)).await.unwrap();
    assert!(stats(at(0)..at(30)).await.unwrap().is_none());
    assert!(stats(at(30)..at(30)).await.unwrap().is_none());
    assert_eq!(stats(at(30)..at(31)).await.unwrap().unwrap().count(), 1);
    let error = stats(at(1)..at(0)).await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::InvalidArgument { .. }),
        "{error:?}"
    );
    assert_eq!(error.operation(), "stats");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_bucket_is_a_typed_error() {
    let database = database().await;
    let buckets = Iot::buckets(&database);
    buckets.ensure().await.unwrap();
    let report = buckets.insert_many(tutorial()).await.unwrap();
    report.into_result().unwrap();
    let collection = database.collection::<Document>("iot_buckets");
    let sound = collection.find_one(doc! {}).await.unwrap().unwrap();
    let filter = doc! { "_id": sound.get_str("_id").unwrap() };
    for (damage, whole) in [
        (doc! { "$unset": { "count": 1 } }, true),
        (doc! { "$set": { "count": "60" } }, true),
        (doc! { "$set": { "count": -1 } }, true),
        (doc! { "$set": { "stats.min": "a" } }, true),
        (doc! { "$set": { "stats": [] } }, true),
        (doc! { "$unset": { "bucket_end": 1 } }, true),
        (doc! { "$set": { "bucket_start": 5 } }, true),
        (doc! { "$set": { "count": 59 } }, false),
        (doc! { "$unset": { "readings": 1 } }, false),
        (doc! { "$set": { "readings": "none" } }, false),
        (doc! { "$set": { "readings.40": 5 } }, false),
        (doc! { "$set": { "readings.40.ts": "late" } }, false),
        (doc! { "$set": { "readings.40.v": "high" } }, false),
    ] {
        collection
            .update_one(filter.clone(), damage.clone())
            .await
            .unwrap();
        let whole = if whole { at(600) } else { at(601) };
        let error = buckets.stats(DEVICE.to_owned(), whole..).await;
        let error = error.expect_err(&damage.to_string());
        let ErrorKind::Damaged(found) = error.kind() else {
            panic!("{damage}: {error:?}");
        };
        assert!(found.id().contains("device_001_"), "{found}");
        collection
            .replace_one(filter.clone(), &sound)
            .await
            .unwrap();
    }
    let all = buckets.stats(DEVICE.to_owned(), at(601)..).await.unwrap();
    assert_eq!(all.unwrap().count(), 179);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "levels",
    items = "levels",
    capacity = 50,
    numbered,
    stats = "figures"
)]
struct Level {
    #[bucket(key)]
    sensor: i64,
    #[bucket(time, first = "opened_at", last = "latest")]
    at: DateTime,
    #[bucket(min, max, avg, std_dev, first, last, percentiles(error = 0.01))]
    height: f64,
    #[bucket(sum = "maybe_sum", avg, count = "present", min = "least")]
    maybe: Option<i32>,
    #[bucket(non_finite = "skip", max = "peak", sum = "rough_sum", avg = "mean")]
    rough: f64,
    #[bucket(tally = "codes", count_if("errors", |code| *code >= 500))]
    code: i32,
}

#[allow(clippy::cast_precision_loss)]
fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn close(found: Option<f64>, expected: f64) {
    let found = found.unwrap();
    let bound = 1e-9 * expected.abs().max(1e-9);
    assert!(
        (found - expected).abs() <= bound,
        "{found} is not {expected}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn typed_figures_of_a_range_are_those_of_its_records() {
    let database = database().await;
    let levels = Level::buckets(&database);
    levels.ensure().await.unwrap();
    let level = |n: i32| Level {
        sensor: 1,
        at: at(i64::from(n)),
        height: f64::from(n * n % 977 + 1) / 8.0,
        maybe: (n % 3 != 0 && n < 700).then_some(n),
        rough: if n % 5 == 0 { f64::NAN } else { f64::from(n) },
        code: [200, 404, 503][usize::try_from(n % 3).unwrap()],
    };
    let all: Vec<Level> = (0..1_000).map(level).collect();
    levels
        .insert_many(&all)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    for (from, to, opened) in [(0, 1_000, 0), (33, 921, 2), (60, 61, 1), (750, 800, 0)] {
        let inside = &all[from..to];
        let range = all[from].at..=all[to - 1].at;
        let found = levels.stats(1, range).await.unwrap().unwrap();
        assert_eq!(found.count(), u64::try_from(inside.len()).unwrap());
        assert_eq!(found.scanned_buckets(), opened, "{from}..{to}");
        let mut heights: Vec<f64> = inside.iter().map(|level| level.height).collect();
        let mean = average(&heights);
        let squares: Vec<f64> = heights
            .iter()
            .map(|height| (height - mean).powi(2))
            .collect();
        close(found.height().avg(), mean);
        close(found.height().std_dev(), average(&squares).sqrt());
        assert_eq!(found.height().first(), heights.first().copied());
        assert_eq!(found.height().last(), heights.last().copied());
        heights.sort_by(f64::total_cmp);
        assert_eq!(found.height().min(), heights.first().copied());
        assert_eq!(found.height().max(), heights.last().copied());
        for percent in [0_usize, 1, 50, 90, 99, 100] {
            let exact = heights[(heights.len() - 1) * percent / 100];
            let q = f64::from(u8::try_from(percent).unwrap()) / 100.0;
            let found = found.height().percentile(q).unwrap();
            assert!(
                (found - exact).abs() <= 0.0101 * exact,
                "{q}: {found} is not {exact}"
            );
        }
        let present: Vec<i32> = inside.iter().filter_map(|level| level.maybe).collect();
        assert_eq!(found.maybe().min(), present.iter().min().copied());
        let sum: i64 = present.iter().map(|value| i64::from(*value)).sum();
        assert_eq!(found.maybe().sum().unwrap_or(0), sum);
        let present: Vec<f64> = present.into_iter().map(f64::from).collect();
        match found.maybe().avg() {
            Some(avg) => close(Some(avg), average(&present)),
            None => assert!(present.is_empty()),
        }
        let finite = inside
            .iter()
            .map(|level| level.rough)
            .filter(|rough| rough.is_finite());
        let finite: Vec<f64> = finite.collect();
        match found.rough().avg() {
            Some(avg) => close(Some(avg), average(&finite)),
            None => assert!(finite.is_empty()),
        }
        let number = |code: i32| {
            let of_code = inside.iter().filter(|level| level.code == code);
            u64::try_from(of_code.count()).unwrap()
        };
        for (code, counted) in found.code().codes() {
            assert_eq!(counted, number(code));
        }
        assert_eq!(found.code().errors(), number(503));
        assert_eq!(found.opened_at(), Some(inside[0].at));
        assert_eq!(found.latest(), Some(inside[inside.len() - 1].at));
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "events", items = "events", capacity = 10)]
struct Event {
    #[bucket(key)]
    source: i64,
    #[bucket(time)]
    at: DateTime,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_without_aggregates_has_the_number_of_records() {
    let database = database().await;
    let events = Event::buckets(&database);
    events.ensure().await.unwrap();
    let all: Vec<Event> = (0..35)
        .map(|n| Event {
            source: 7,
            at: at(n),
        })
        .collect();
    events
        .insert_many(&all)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let found = events.stats(7, at(5)..at(25)).await.unwrap().unwrap();
    assert_eq!(
        (found.count(), found.buckets(), found.scanned_buckets()),
        (20, 3, 3)
    );
    let found = events.stats(7, ..).await.unwrap().unwrap();
    assert_eq!(
        (found.count(), found.buckets(), found.scanned_buckets()),
        (35, 4, 0)
    );
}
