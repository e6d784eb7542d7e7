//! Windows that are or were longer than those of the model.

use std::time::Duration;

use bucket_mongo::{Bucketed, Limits, Window, bson::DateTime};
use bucket_tests::{database, documents};

use super::models::{DailyReading, Reading, latest, reading};
use crate::common::filled::filled;

#[tokio::test(flavor = "multi_thread")]
async fn an_older_longer_window_is_read_if_the_caller_sets_its_length() {
    let daily = DailyReading {
        device: "d".to_owned(),
        sensor: "s".to_owned(),
        at: DateTime::from_millis(20 * 3_600_000),
        value: 20,
    };
    let (database, _) = filled(&[daily]).await;
    let buckets = Reading::buckets(&database);
    // Late, and in a bucket after the one of the day.
    buckets.insert(&reading("d", "s", 600)).await.unwrap();
    let day = Duration::from_secs(86_400);
    let told = buckets.with_longest_span(day);
    let found = told.latest_per_key().await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].value, 20);
}

/// The caller sets no length: the bucket itself shows that it is part of a window.
#[tokio::test(flavor = "multi_thread")]
async fn all_parts_of_an_older_longer_window_are_read() {
    let hours = [23, 1, 2, 3, 4].map(|hour| DailyReading {
        device: "d".to_owned(),
        sensor: "s".to_owned(),
        at: DateTime::from_millis(hour * 3_600_000),
        value: hour,
    });
    let (database, daily) = filled::<DailyReading>(&[]).await;
    for reading in &hours {
        daily.insert(reading).await.unwrap();
    }
    assert_eq!(documents(&database, "readings").await.len(), 2);
    let found = latest(&Reading::buckets(&database)).await;
    let found: Vec<i64> = found.iter().map(|one| one.value).collect();
    assert_eq!(found, [23]);
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_by_key_bound_the_lookup_of_each_key() {
    let database = database().await;
    let buckets = Reading::buckets(&database).with_limits(|key| match key.device.as_str() {
        "day" => Limits::new().window(Window::Day),
        _ => Limits::new(),
    });
    buckets.ensure().await.unwrap();
    for device in ["day", "hour"] {
        for minute in [0, 700, 1_000, 10, 20, 30, 999, 998, 997] {
            buckets.insert(&reading(device, "s", minute)).await.unwrap();
        }
    }
    let found: Vec<i64> = latest(&buckets).await.iter().map(|one| one.value).collect();
    assert_eq!(found, [1_000, 1_000]);
}
