//! The cost of the newest record if many buckets may overlap the last one: many buckets were filled
//! within the longest bucket duration.

use bucket_mongo::{Bucketed, bson::DateTime};
use bucket_tests::{database, profiled};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "readings",
    items = "readings",
    capacity = 3,
    max_duration = "1h"
)]
struct Reading {
    #[bucket(key)]
    device: i64,
    #[bucket(time)]
    at: DateTime,
}

#[tokio::test]
async fn the_newest_of_many_buckets_takes_two_reads_and_sends_only_candidates() {
    let database = database().await;
    let readings = Reading::buckets(&database);
    readings.ensure().await.unwrap();
    let records = (0..900).map(|n| Reading {
        device: 1,
        at: DateTime::from_millis(n * 1_000),
    });
    let report = readings.insert_many(records).await.unwrap();
    report.into_result().unwrap();
    for newest in [1, 4] {
        let read = readings.latest_n(1, newest);
        let (found, profile) = profiled(&database, "readings", read.into_future()).await;
        let seconds = found
            .unwrap()
            .into_iter()
            .map(|found| found.at.timestamp_millis() / 1_000);
        assert!(seconds.eq((0..900).rev().take(newest)));
        let sent = profile
            .iter()
            .map(|read| read.get_i32("nreturned").unwrap());
        assert!(profile.len() <= 2, "{} reads", profile.len());
        assert!(sent.sum::<i32>() <= 4, "{profile:?}");
    }
}
