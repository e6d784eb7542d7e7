//! A span of time over all keys: exact at its edges, and its cost.

use std::time::Duration;

use bucket_core::{Record, TimeRange, bucket, read};
use bucket_mongo::{
    Bucketed, Buckets, ErrorKind, Limits, Window,
    bson::{DateTime, Document, RawDocumentBuf, doc},
};
use bucket_tests::{database, documents, profiled};
use futures_util::{StreamExt, TryStreamExt};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use crate::common::{
    draw::Draw,
    explained::{explain, find},
    filled::filled,
    sample::{self, Sample},
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "readings",
    items = "readings",
    window = "1h",
    capacity = 3
)]
struct Reading {
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
    minute: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "trades", capacity = 3)]
struct Trade {
    #[bucket(key)]
    customer: i64,
    #[bucket(time)]
    at: DateTime,
}

fn minute(minute: i64) -> DateTime {
    DateTime::from_millis(minute * 60_000)
}

fn reading(device: &str, at: i64) -> Reading {
    Reading {
        device: device.to_owned(),
        at: minute(at),
        minute: at,
    }
}

async fn minutes(buckets: &Buckets<Reading>, range: TimeRange) -> Vec<i64> {
    let found = buckets.range_all_keys(range).stream();
    found.map_ok(|one| one.minute).try_collect().await.unwrap()
}

/// Every record of the range, from all that are stored: window by window, part by part.
async fn naive<const F: usize>(buckets: &Buckets<Sample<F>>, range: TimeRange) -> Vec<i64> {
    let collection = buckets.collection::<RawDocumentBuf>();
    let found: Vec<RawDocumentBuf> = collection
        .find(doc! {})
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    let mut numbers = Vec::new();
    for found in found {
        let bucket = bucket::decode::<Sample<F>>(&found).unwrap();
        let items = bucket.items.iter().filter(|item| range.contains(item.at));
        numbers.extend(items.map(|item| item.unique));
    }
    numbers.sort_unstable();
    numbers
}

async fn is_exact<const F: usize>(seed: u8) {
    let mut draw = Draw::new(seed);
    let (_database, buckets) = filled(&draw.samples::<F>(0, 200)).await;
    let edge = prop_oneof![4 => (-4_000..8_000_i64).prop_map(Some), 1 => any::<i64>().prop_map(Some), 1 => Just(None)];
    for _ in 0..60 {
        let (mut start, mut end) = draw.draw((edge.clone(), edge.clone()));
        if let (Some(one), Some(two)) = (start, end)
            && two < one
        {
            (start, end) = (end, start);
        }
        let range = TimeRange::new(
            start.map(DateTime::from_millis),
            end.map(DateTime::from_millis),
        );
        let found = buckets.range_all_keys(range).stream();
        let found: Vec<Sample<F>> = found.try_collect().await.unwrap();
        let windows: Vec<DateTime> = found.iter().map(|one| window_of(one.at)).collect();
        assert!(windows.is_sorted(), "{range:?}");
        let mut numbers: Vec<i64> = found.iter().map(|one| one.unique).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, naive(&buckets, range).await, "{range:?}");
    }
}

fn window_of(at: DateTime) -> DateTime {
    Window::seconds(1).span(at).1
}

#[tokio::test(flavor = "multi_thread")]
async fn it_returns_every_record_of_the_range_and_no_other() {
    is_exact::<{ sample::WINDOW }>(1).await;
    is_exact::<{ sample::WINDOW_CAPACITY }>(2).await;
    is_exact::<{ sample::WINDOW_BYTES }>(3).await;
    is_exact::<{ sample::WINDOW_OBJECT }>(4).await;
    is_exact::<{ sample::PARTS }>(5).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn its_start_is_included_and_its_end_is_not() {
    let readings = [0, 59, 60, 61, 119, 120].map(|at| reading("d", at));
    let (_database, buckets) = filled(&readings).await;
    let between = |from, to| TimeRange::new(Some(minute(from)), Some(minute(to)));
    assert_eq!(minutes(&buckets, between(60, 120)).await, [60, 61, 119]);
    assert_eq!(minutes(&buckets, between(59, 60)).await, [59]);
    assert_eq!(minutes(&buckets, between(61, 121)).await, [61, 119, 120]);
    assert_eq!(
        minutes(&buckets, between(200, 300)).await,
        Vec::<i64>::new()
    );
    let found = buckets.range_all_keys(minute(119)..=minute(120)).stream();
    assert_eq!(found.count().await, 2);
    assert_eq!(buckets.range_all_keys(..).stream().count().await, 6);
    let last = Reading {
        at: DateTime::MAX,
        ..reading("d", 0)
    };
    buckets.insert(&last).await.unwrap();
    let found = buckets.range_all_keys(DateTime::MAX..).stream();
    assert_eq!(found.count().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn inside_a_bucket_records_are_in_order_of_time_then_of_arrival() {
    let (database, buckets) = filled::<Reading>(&[]).await;
    for (at, of) in [(30, 1), (10, 2), (30, 3)] {
        let one = Reading {
            minute: of,
            ..reading("d", at)
        };
        buckets.insert(&one).await.unwrap();
    }
    assert_eq!(documents(&database, "readings").await.len(), 1);
    assert_eq!(minutes(&buckets, TimeRange::ALL).await, [2, 1, 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_examines_the_buckets_that_it_returns_and_no_others() {
    let mut readings = Vec::new();
    for device in 0..30 {
        let hours = (0..200).map(|hour| hour * 60 + 30);
        readings.extend(hours.map(|at| reading(&device.to_string(), at)));
    }
    let (database, _buckets) = filled(&readings).await;
    let spec = <Reading as Record>::SPEC;
    let longest = read::longest(spec, None).unwrap();
    for (from, to, returned) in [
        (Some(6_000), Some(6_060), 30),
        (Some(6_001), Some(6_061), 60),
        (None, Some(60), 30),
        (Some(11_940), None, 30),
        (Some(-500), Some(-400), 0),
        (Some(6_000), Some(6_000 + 600), 300),
    ] {
        let range = TimeRange::new(from.map(minute), to.map(minute));
        let plan = read::across_keys(spec, range, longest).unwrap();
        let explained = explain(&database, find("readings", plan)).await;
        assert!(explained.plan.contains("IXSCAN"), "{}", explained.plan);
        assert!(!explained.plan.contains("SORT"), "{}", explained.plan);
        assert_eq!(explained.documents, returned, "{range:?}");
        assert!(
            explained.keys <= returned + 2,
            "{range:?}: {} keys",
            explained.keys
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_bucket_is_an_error_in_its_place() {
    let readings = ["a", "b", "c", "d"].map(|device| reading(device, 10));
    let (database, buckets) = filled(&readings).await;
    let collection = database.collection::<Document>("readings");
    for (device, broken) in [
        ("a", doc! { "$unset": { "bucket_end": 1 } }),
        ("b", doc! { "$set": { "bucket_start": "today" } }),
        ("c", doc! { "$set": { "count": 4 } }),
    ] {
        let filter = doc! { "device": device };
        collection.update_one(filter, broken).await.unwrap();
    }
    let found: Vec<_> = buckets
        .range_all_keys(minute(0)..minute(60))
        .stream()
        .collect()
        .await;
    assert_eq!(found.len(), 4);
    let right = found.iter().flatten().map(|one| one.device.as_str());
    assert_eq!(right.collect::<Vec<_>>(), ["d"]);
    for error in found.iter().filter_map(|one| one.as_ref().err()) {
        assert!(matches!(error.kind(), ErrorKind::Damaged(_)), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_without_windows_and_a_reversed_range_are_refused() {
    let database = database().await;
    let trades = Trade::buckets(&database);
    let readings = Reading::buckets(&database);
    let work = async {
        let one = trades.range_all_keys(..).await.unwrap_err();
        let two = readings
            .range_all_keys(minute(1)..minute(0))
            .await
            .unwrap_err();
        let empty = readings.range_all_keys(minute(1)..minute(1)).stream();
        assert_eq!(empty.count().await, 0);
        [one, two]
    };
    let (errors, profile) = profiled(&database, "readings", work).await;
    for error in errors {
        let is_invalid = matches!(error.kind(), ErrorKind::InvalidArgument { .. });
        assert!(is_invalid, "{error}");
        assert_eq!(error.operation(), "range_all_keys");
    }
    assert!(profile.is_empty(), "{profile:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn longer_windows_than_the_models_are_found_if_limits_or_the_call_say_so() {
    let (_database, buckets) = filled(&[reading("hour", 70)]).await;
    let daily = buckets.clone();
    let daily = daily.with_limits(|_| Limits::new().window(Window::Day));
    daily.insert(&reading("day", 80)).await.unwrap();
    let range = TimeRange::new(Some(minute(60)), Some(minute(120)));
    assert_eq!(minutes(&daily, range).await, [70, 80]);
    let day = Duration::from_secs(86_400);
    let told = buckets.with_longest_span(day);
    assert_eq!(told.range_all_keys(range).await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_stored_at_the_start_comes_once_with_concurrent_writers() {
    let mut readings = Vec::new();
    for at in 0..1_200 {
        readings.extend(["a", "b"].map(|device| reading(device, at)));
    }
    let (database, buckets) = filled(&readings).await;
    let writers: Vec<_> = (0..3)
        .map(|writer| {
            let buckets = Reading::buckets(&database);
            tokio::spawn(async move {
                for round in 0..20 {
                    let records: Vec<Reading> = (0..50)
                        .map(|n| Reading {
                            minute: -1,
                            ..reading(["a", "b", "c"][writer], (n * 37 + round) % 1_200)
                        })
                        .collect();
                    let report = buckets.insert_many(&records).await.unwrap();
                    report.into_result().unwrap();
                }
            })
        })
        .collect();
    loop {
        let done = writers.iter().all(tokio::task::JoinHandle::is_finished);
        let mut found = minutes(&buckets, TimeRange::ALL).await;
        found.retain(|minute| *minute >= 0);
        found.sort_unstable();
        let expected: Vec<i64> = (0..1_200).flat_map(|at| [at, at]).collect();
        assert!(found == expected);
        if done {
            break;
        }
    }
    for writer in writers {
        writer.await.unwrap();
    }
}
