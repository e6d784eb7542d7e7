//! What a handle learns from the buckets of one key widens its reads, and never narrows them.

use bucket_mongo::{
    Bucketed, Interval, Limits, Window,
    bson::{DateTime, Document, doc},
};
use bucket_tests::{Load, database, profiled};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "readings", items = "readings", window = "1m")]
struct Reading {
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
}

const HOUR: i64 = 3_600_000;

fn reading(device: &str, at: i64) -> Reading {
    let (device, at) = (device.to_owned(), DateTime::from_millis(at));
    Reading { device, at }
}

#[tokio::test]
async fn a_longer_bucket_of_one_key_does_not_hide_those_of_others_from_a_read_of_all_keys() {
    let database = database().await;
    let once = Reading::buckets(&database).with_limits(|_| Limits::new().window(Window::hours(2)));
    once.ensure().await.unwrap();
    once.insert(&reading("changed", HOUR)).await.unwrap();
    // From then on, one key has windows of a minute, the other one of a day.
    let readings = Reading::buckets(&database).with_limits(|key: &ReadingKey| {
        if key.device == "long" {
            Limits::new().window(Window::Day)
        } else {
            Limits::new()
        }
    });
    readings.insert(&reading("long", HOUR)).await.unwrap();
    let range = || DateTime::from_millis(HOUR)..DateTime::from_millis(HOUR + 1);
    let all = readings.range_all_keys(range()).await.unwrap();
    assert_eq!(all.len(), 2);
    // A read of this key finds its longer bucket.
    let of_changed = readings.range("changed", ..).await.unwrap();
    assert_eq!(of_changed.len(), 1);
    let all = readings.range_all_keys(range()).await.unwrap();
    assert_eq!(all.len(), 2);
}

/// The index entries that the server examines for a range of ten minutes.
async fn examined(
    database: &bucket_mongo::testing::TestDatabase,
    readings: &bucket_mongo::Buckets<Reading>,
    at: i64,
) -> i64 {
    let range = DateTime::from_millis(at)..DateTime::from_millis(at + 600_000);
    let read = readings.range("a", range).into_future();
    let (read, profile) = profiled(database, "readings", read).await;
    assert_eq!(read.unwrap().len(), 10);
    let examined = |each: &Document| i64::from(each.get_i32("keysExamined").unwrap());
    profile.iter().map(examined).sum()
}

#[tokio::test]
async fn an_end_that_no_window_can_have_costs_no_further_read() {
    let database = database().await;
    let readings = Reading::buckets(&database);
    readings.ensure().await.unwrap();
    // Not near the beginning of time, where every length divides.
    let base = 1_785_974_460_000;
    let records: Vec<Reading> = (0..600).map(|n| reading("a", base + n * 60_000)).collect();
    readings.load(&records).await;
    let collection = database.collection::<Document>("readings");
    let range = |from: i64| {
        let from = base + from * 60_000;
        DateTime::from_millis(from)..DateTime::from_millis(from + 600_000)
    };
    let before = examined(&database, &readings, base + 30_000_000).await;
    for end in [
        DateTime::MAX,
        DateTime::from_millis(base + 40 * 366 * 86_400_000),
        DateTime::from_millis(base + 300 * 86_400_000),
    ] {
        let damaged = doc! { "bucket_start": DateTime::from_millis(base + 600_000) };
        let update = doc! { "$set": { "bucket_end": end } };
        collection.update_one(damaged, update).await.unwrap();
        // Every read finds it.
        assert_eq!(readings.range("a", range(10)).await.unwrap().len(), 10);
        let stats = readings.stats("a", range(10)).await.unwrap().unwrap();
        assert_eq!(stats.count(), 10);
        let rollup = readings.rollup("a", range(10), Interval::minutes(5)).await;
        let counts: Vec<u64> = rollup
            .unwrap()
            .rows()
            .iter()
            .map(bucket_mongo::RollupRow::count)
            .collect();
        assert_eq!(counts.iter().sum::<u64>(), 10);
        let page = readings.records("a").between(range(10)).await.unwrap();
        assert_eq!(page.len(), 10);
        let after = examined(&database, &readings, base + 30_000_000).await;
        assert_eq!(after, before, "{end:?}");
    }
}

#[tokio::test]
async fn a_read_that_has_returned_nothing_restarts_when_it_finds_a_longer_bucket() {
    let database = database().await;
    let once = Reading::buckets(&database).with_limits(|_| Limits::new().window(Window::hours(2)));
    once.ensure().await.unwrap();
    let base = 1_785_974_400_000;
    // One window of two hours that reaches into the range, and one in the middle of it.
    once.insert(&reading("a", base + HOUR + 90_000))
        .await
        .unwrap();
    once.insert(&reading("a", base + 4 * HOUR)).await.unwrap();
    let short = Reading::buckets(&database);
    let records: Vec<Reading> = (121..140)
        .map(|minute| reading("a", base + minute * 60_000))
        .collect();
    short.load(&records).await;
    let range = || DateTime::from_millis(base + HOUR + 60_000)..;
    for newest_first in [false, true] {
        // Handles that have learnt nothing.
        let fresh = || Reading::buckets(&database);
        let (range_many, records) = (fresh(), fresh());
        let found = range_many.range("a", range());
        let found = if newest_first {
            found.newest_first()
        } else {
            found
        };
        assert_eq!(found.await.unwrap().len(), 21);
        let found = records.records("a").between(range());
        let found = if newest_first {
            found.newest_first()
        } else {
            found
        };
        assert_eq!(found.collect().await.unwrap().len(), 21);
    }
}
