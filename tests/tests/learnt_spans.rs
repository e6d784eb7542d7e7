//! What a handle learns of the buckets of one key widens what it reads, and never narrows it.

use bucket_mongo::{Bucketed, Limits, Window, bson::DateTime};
use bucket_tests::database;
use futures_util::TryStreamExt;
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
    // From then on one key has windows of a minute, the other one of a day.
    let readings = Reading::buckets(&database).with_limits(|key: &ReadingKey| {
        if key.device == "long" {
            Limits::new().window(Window::Day)
        } else {
            Limits::new()
        }
    });
    readings.insert(&reading("long", HOUR)).await.unwrap();
    let range = || DateTime::from_millis(HOUR)..DateTime::from_millis(HOUR + 1);
    let all: Vec<Reading> = readings
        .range_all(range())
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    assert_eq!(all.len(), 2);
    // A read of the one key meets its longer bucket.
    let of_changed = readings.range("changed", ..).await.unwrap();
    assert_eq!(of_changed.len(), 1);
    let all: Vec<Reading> = readings
        .range_all(range())
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    assert_eq!(all.len(), 2);
}
