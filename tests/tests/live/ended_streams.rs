//! A stream of a read that has ended stays ended, however often it is polled.

use std::fmt::Debug;

use bucket_mongo::{Bucketed, bson::DateTime};
use bucket_tests::database;
use futures_util::{Stream, StreamExt};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "readings",
    items = "readings",
    window = "1m",
    capacity = 2
)]
struct Reading {
    #[bucket(key)]
    device: i64,
    #[bucket(time)]
    at: DateTime,
}

async fn ends<R: Debug>(mut stream: impl Stream<Item = R> + Unpin, items: usize) {
    for _ in 0..items {
        assert!(stream.next().await.is_some());
    }
    for _ in 0..3 {
        let next = stream.next().await;
        assert!(next.is_none(), "{next:?}");
    }
}

#[tokio::test]
async fn at_its_end_its_limit_or_an_error() {
    let database = database().await;
    let readings = Reading::buckets(&database);
    readings.ensure().await.unwrap();
    let records = (0..5).map(|n| Reading {
        device: 1,
        at: DateTime::from_millis(n * 20_000),
    });
    let report = readings.insert_many(records).await.unwrap();
    report.into_result().unwrap();
    ends(readings.records(1).stream(), 5).await;
    ends(readings.records(1).limit(2).stream(), 2).await;
    ends(readings.records(2).stream(), 0).await;
    ends(readings.records(1).after("no token").stream(), 1).await;
    ends(readings.range(1, ..).stream(), 5).await;
    ends(readings.range_many([1, 2], ..).stream(), 5).await;
    let (one, two) = (DateTime::from_millis(1), DateTime::from_millis(2));
    ends(readings.range(1, two..one).stream(), 1).await;
    ends(readings.range(1, one..one).stream(), 0).await;
    ends(readings.pages(1).stream(), 3).await;
    ends(readings.range_all_keys(..).stream(), 5).await;
    ends(readings.range_all_keys(one..one).stream(), 0).await;
    ends(readings.latest_per_key().stream(), 1).await;
    ends(readings.keys().stream(), 1).await;
    ends(readings.keys().summaries().stream(), 1).await;
}
