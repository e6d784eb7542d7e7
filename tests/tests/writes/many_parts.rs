//! Windows with more buckets than one round trip returns.

use std::time::Duration;

use bucket_mongo::{Bucketed, Buckets, bson::DateTime, testing::TestDatabase};
use bucket_tests::database;
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

/// More than the buckets of one round trip.
const PARTS: i64 = 1_100;
/// A read that loops must fail, not hang.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "events",
    items = "items",
    window = "day",
    capacity = 1,
    object_ids
)]
struct Event {
    #[bucket(key)]
    device: i64,
    #[bucket(time)]
    at: DateTime,
    number: i64,
}

/// One window with a bucket for each record, and a record in each window around it.
async fn filled() -> (TestDatabase, Buckets<Event>) {
    let database = database().await;
    let events = Event::buckets(&database);
    events.ensure().await.unwrap();
    let records: Vec<Event> = (-1..=PARTS)
        .map(|number| Event {
            device: 1,
            at: DateTime::from_millis(match number {
                -1 => -1,
                PARTS => 86_400_000,
                within => within * 1_000,
            }),
            number,
        })
        .collect();
    let report = events.insert_many(records).await.unwrap();
    report.into_result().unwrap();
    (database, events)
}

fn numbers(records: &[Event]) -> Vec<i64> {
    records.iter().map(|record| record.number).collect()
}

#[tokio::test]
async fn pages_cover_all_parts_of_a_window_in_both_directions() {
    let (_database, events) = filled().await;
    let ascending: Vec<i64> = (-1..=PARTS).collect();
    let descending: Vec<i64> = ascending.iter().rev().copied().collect();
    let read = async {
        let page = events.records(1).limit(10_000).await.unwrap();
        assert_eq!(numbers(page.records()), ascending);
        let page = events.records(1).newest_first().limit(10_000);
        let page = page.await.unwrap();
        assert_eq!(numbers(page.records()), descending);
        let newest = events.latest_n(1, 10_000).await.unwrap();
        assert_eq!(numbers(&newest), descending);

        // From the middle of the window, forwards and backwards.
        let start = events.records(1).limit(500).await.unwrap();
        let rest = events.records(1).limit(10_000).after(start.next_token());
        let rest = rest.await.unwrap();
        assert_eq!(numbers(rest.records()), ascending[500..]);
        let before = events.records(1).limit(10_000).before(rest.end_token());
        let before = before.await.unwrap();
        assert_eq!(numbers(before.records()), ascending[..ascending.len() - 1]);
        let start = events.records(1).newest_first().limit(500).await.unwrap();
        let rest = events.records(1).newest_first().limit(10_000);
        let rest = rest.after(start.next_token()).await.unwrap();
        assert_eq!(numbers(rest.records()), descending[500..]);
    };
    tokio::time::timeout(PATIENCE, read).await.unwrap();
}

#[tokio::test]
async fn streams_cover_all_parts_of_a_window() {
    let (_database, events) = filled().await;
    let ascending: Vec<i64> = (-1..=PARTS).collect();
    let read = async {
        let all: Vec<Event> = events.records(1).stream().try_collect().await.unwrap();
        assert_eq!(numbers(&all), ascending);
        let start = events.records(1).limit(700).await.unwrap();
        let rest = events.records(1).after(start.next_token()).collect();
        assert_eq!(numbers(&rest.await.unwrap()), ascending[700..]);
        let all = events.range(1, ..).newest_first().await.unwrap();
        assert!(numbers(&all).iter().rev().eq(&ascending));
    };
    tokio::time::timeout(PATIENCE, read).await.unwrap();
}
