//! A position of a source whose record was removed is still stored: delivered again, it is a duplicate.

use bucket_mongo::{Bucketed, Buckets, bson::DateTime};
use bucket_tests::database;
use serde::{Deserialize, Serialize};

trait Order: Bucketed<Key: From<i64>> + Send + Sync {
    fn of(position: i64) -> Self;
    fn position(&self) -> i64;
}

macro_rules! every_form {
    ($($test:ident $name:ident [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "orders", items = "items", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            customer: i64,
            #[bucket(time)]
            at: DateTime,
            position: i64,
            #[bucket(sum, avg)]
            amount: i64,
        }

        impl Order for $name {
            fn of(position: i64) -> Self {
                let at = DateTime::from_millis(1_698_335_220_000 + position * 1_000);
                Self { customer: 7, at, position, amount: position }
            }

            fn position(&self) -> i64 {
                self.position
            }
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            a_removed_position_is_a_duplicate::<$name>().await;
        }
    )*};
}

// Hybrid buckets have no sources.
every_form! {
    positions_in_counted_buckets Counted [capacity = 4];
    positions_in_buckets_closed_by_bytes ByBytes [capacity = 30, max_bytes = "1KiB"];
    positions_in_windows Windowed [window = "10s"];
    positions_in_windows_with_a_capacity WindowedParts [window = "10s", capacity = 4];
    positions_in_windows_with_object_ids WindowedObjects [window = "10s", capacity = 4, object_ids];
    positions_in_numbered_buckets Numbered [capacity = 4, numbered];
    positions_in_numbered_buckets_with_object_ids NumberedObjects [capacity = 4, numbered, object_ids];
}

/// How many of the positions were new.
async fn deliver<T: Order>(orders: &Buckets<T>, source: &str, count: i64) -> usize {
    let records: Vec<T> = (0..count).map(T::of).collect();
    let report = orders.insert_many(&records).from_source(source, 0);
    let report = report.await.unwrap();
    assert!(report.failed().is_empty(), "{:?}", report.failed());
    assert_eq!(report.stored() + report.duplicates().len(), records.len());
    report.stored()
}

async fn positions<T: Order>(orders: &Buckets<T>) -> Vec<i64> {
    let found: Vec<T> = orders.records(7).collect().await.unwrap();
    let mut found: Vec<i64> = found.iter().map(Order::position).collect();
    found.sort_unstable();
    found
}

async fn a_removed_position_is_a_duplicate<T: Order>() {
    let database = database().await;
    let orders = T::buckets(&database);
    orders.ensure().await.unwrap();
    assert_eq!(deliver(&orders, "queue", 14).await, 14);
    // In the middle of a full bucket, and at the end of the last one.
    let read = orders.records(7).with_refs().collect().await.unwrap();
    for read in read {
        if [2, 13].contains(&read.record.position()) {
            let gone = orders.delete(7, read.reference).await.unwrap();
            assert!(gone.is_some());
        }
    }
    // All of a bucket.
    let at = |second: i64| DateTime::from_millis(1_698_335_220_000 + second * 1_000);
    let gone = orders.delete_range(7, at(4)..at(8)).await.unwrap();
    assert_eq!(gone.records, 4);
    let left = [0, 1, 3, 8, 9, 10, 11, 12];
    // By the handle that removed them, by one that knows nothing of it, and in a longer batch.
    assert_eq!(deliver(&orders, "queue", 14).await, 0);
    let other = T::buckets(&database);
    assert_eq!(deliver(&other, "queue", 14).await, 0);
    assert_eq!(positions(&other).await, left);
    assert_eq!(deliver(&T::buckets(&database), "queue", 16).await, 2);
    assert_eq!(positions(&orders).await, [&left[..], &[14, 15]].concat());
    // Those of another source are others.
    let records: Vec<T> = [2, 13].map(T::of).into();
    let again = orders.insert_many(&records).from_source("queue, again", 0);
    assert_eq!(again.await.unwrap().stored(), 2);
    assert_eq!(
        positions(&other).await,
        [0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15]
    );
    let report = orders.verify().await.unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
}
