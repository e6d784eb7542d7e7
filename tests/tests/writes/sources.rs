//! Records of a source that redelivers: each position is stored at most once, whatever its batches,
//! whoever else writes, and however often the process dies.

use std::{
    collections::BTreeMap,
    env,
    process::{Command, Stdio},
    time::Duration,
};

use bucket_mongo::{
    Bucketed, Buckets, ErrorKind, InsertReport,
    mongodb::{
        Client,
        bson::{DateTime, Document, doc},
    },
};
use bucket_tests::{Load, database, documents, server};
use serde::{Deserialize, Serialize};

macro_rules! models {
    ($($name:ident: [$($attributes:tt)*])*) => {$(
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

        impl $name {
            /// The record at this position; -1 for a record without a source.
            fn at(position: i64) -> Self {
                Self {
                    customer: position.rem_euclid(7),
                    at: DateTime::from_millis(1_700_000_000_000 + position * 400),
                    position,
                    amount: position,
                }
            }
        }
    )*};
}

models! {
    Counted: [capacity = 10]
    Windowed: [window = "1m", capacity = 10]
    Numbered: [capacity = 10, numbered]
}

/// With a stored average, which is written by a pipeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "orders", items = "items", capacity = 10, numbered)]
struct Averaged {
    #[bucket(key)]
    customer: i64,
    #[bucket(time)]
    at: DateTime,
    position: i64,
    #[bucket(sum = "total", avg = "mean")]
    amount: i64,
}

impl Averaged {
    fn at(position: i64) -> Self {
        let Counted {
            customer,
            at,
            position,
            amount,
        } = Counted::at(position);
        Self {
            customer,
            at,
            position,
            amount,
        }
    }
}

/// Counts how often each position is stored, and checks that every count is right.
fn stored(documents: &[Document]) -> BTreeMap<i64, usize> {
    let mut stored = BTreeMap::new();
    for document in documents {
        let items = document.get_array("items").unwrap();
        let count = usize::try_from(document.get_i32("count").unwrap());
        assert_eq!(count, Ok(items.len()));
        assert!(items.len() <= 10);
        for item in items {
            let position = item.as_document().unwrap().get_i64("position").unwrap();
            *stored.entry(position).or_default() += 1;
        }
    }
    stored
}

async fn deliver<T: Bucketed>(
    buckets: &Buckets<T>,
    of: fn(i64) -> T,
    positions: [i64; 2],
) -> usize {
    let records: Vec<T> = (positions[0]..positions[1]).map(of).collect();
    let first = u64::try_from(positions[0]).unwrap();
    let report = buckets
        .insert_many(&records)
        .from_source("a.$b", first)
        .await
        .unwrap();
    assert!(report.failed().is_empty(), "{:?}", report.failed());
    assert_eq!(report.stored() + report.duplicates().len(), records.len());
    report.stored()
}

/// Batches that overlap and go back, from handles that remember and handles that do not. Records
/// without a source and of another source come in between.
async fn check<T: Bucketed + Clone>(of: fn(i64) -> T) {
    let database = database().await;
    let buckets = T::buckets(&database);
    buckets.ensure().await.unwrap();
    let batches = [
        [0, 40],
        [20, 90],
        [0, 90],
        [85, 91],
        [91, 92],
        [92, 300],
        [250, 301],
        [0, 400],
    ];
    let mut new = 0;
    for (number, batch) in batches.into_iter().enumerate() {
        new += deliver(&buckets, of, batch).await;
        let restarted = T::buckets(&database);
        assert_eq!(
            deliver(&restarted, of, batch).await,
            0,
            "batch {number} a second time"
        );
        let own: Vec<T> = (0..30).map(|_| of(-1)).collect();
        buckets.load(&own).await;
        // The same positions of another source are other records.
        let others = [of(-2)];
        let other = buckets
            .insert_many(&others)
            .from_source("other", number as u64);
        assert_eq!(other.await.unwrap().stored(), 1);
    }
    assert_eq!(new, 400);
    let mut stored = stored(&documents(&database, "orders").await);
    assert_eq!(stored.remove(&-1), Some(240));
    assert_eq!(stored.remove(&-2), Some(8));
    assert!(
        stored
            .into_iter()
            .eq((0..400).map(|position| (position, 1)))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn positions_are_stored_once_in_pages() {
    check(Counted::at).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn positions_are_stored_once_in_windows() {
    check(Windowed::at).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn positions_are_stored_once_in_numbered_buckets() {
    check(Numbered::at).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn positions_are_stored_once_where_an_average_is_stored() {
    check(Averaged::at).await;
}

/// Consumers of one partition that do not know each other.
async fn check_consumers<T: Bucketed>(of: fn(i64) -> T) {
    let database = database().await;
    T::buckets(&database).ensure().await.unwrap();
    let consumers: Vec<_> = (0..4_i64)
        .map(|number| {
            let buckets = T::buckets(&database);
            tokio::spawn(async move {
                let size = 23 + 10 * number;
                let mut from = 0;
                while from < 600 {
                    let to = (from + size).min(600);
                    deliver(&buckets, of, [from, to]).await;
                    from = to;
                }
            })
        })
        .collect();
    for consumer in consumers {
        consumer.await.unwrap();
    }
    let stored = stored(&documents(&database, "orders").await);
    let twice: Vec<_> = stored.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    assert!(stored.into_keys().eq(0..600));
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_consumers_store_each_position_once_in_pages() {
    check_consumers(Counted::at).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_consumers_store_each_position_once_in_windows() {
    check_consumers(Windowed::at).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_consumers_store_each_position_once_in_numbered_buckets() {
    check_consumers(Numbered::at).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_consumers_store_each_position_once_where_an_average_is_stored() {
    check_consumers(Averaged::at).await;
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "orders",
    items = "items",
    capacity = 10,
    max_duration = "1h"
)]
struct Timed {
    #[bucket(key)]
    sources: i64,
    #[bucket(time)]
    at: DateTime,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "orders", items = "items", capacity = 10)]
struct Taken {
    #[bucket(key)]
    sources: i64,
    #[bucket(time)]
    at: DateTime,
}

#[tokio::test]
async fn records_that_cannot_come_from_a_source_are_refused_before_anything_is_sent() {
    let database = database().await;
    let none: [Timed; 0] = [];
    let refused = [
        Timed::buckets(&database)
            .insert_many(none)
            .from_source("s", 0)
            .await,
        Taken::buckets(&database)
            .insert_many(&[] as &[Taken])
            .from_source("s", 0)
            .await,
        Counted::buckets(&database)
            .insert_many(&[] as &[Counted])
            .from_source("", 0)
            .await,
        Counted::buckets(&database)
            .insert_many(&[] as &[Counted])
            .from_source("s", u64::MAX)
            .await,
    ];
    for refused in refused {
        let error = refused.unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::InvalidArgument { .. }),
            "{error}"
        );
    }
}

/// The record at this position of one key, in one window.
fn at_one_key<T: Bucketed + From<Counted>>(position: i64) -> T {
    T::from(Counted {
        customer: 7,
        at: DateTime::from_millis(1_700_000_000_000 + position),
        position,
        amount: 1,
    })
}

macro_rules! from_counted {
    ($($name:ident)*) => {$(
        impl From<Counted> for $name {
            fn from(record: Counted) -> Self {
                let Counted { customer, at, position, amount } = record;
                Self { customer, at, position, amount }
            }
        }
    )*};
}

from_counted! { Windowed Numbered Averaged }

fn positions<T: Bucketed + From<Counted>>(from: i64, to: i64) -> Vec<T> {
    (from..to).map(at_one_key).collect()
}

/// Consumes as the guide says: continues from the first record that may not be stored.
fn first_failed(report: &InsertReport) -> usize {
    report.failed()[0].index
}

/// No sum can include it, so it is refused when it is encoded.
fn unsummable<T: Bucketed + From<Counted>>(position: i64) -> T {
    T::from(Counted {
        customer: 7,
        at: DateTime::from_millis(1_700_000_000_000 + position),
        position,
        amount: i64::MAX,
    })
}

fn is_held_back(error: &bucket_mongo::Error, at: i64, by: i64) -> bool {
    error.is_retryable()
        && matches!(error.kind(), ErrorKind::HeldBack { position, failed, .. } if (*position, *failed) == (at, by))
}

async fn check_refused<T: Bucketed + From<Counted>>() {
    let database = database().await;
    let buckets = T::buckets(&database);
    buckets.ensure().await.unwrap();
    let mut records: Vec<T> = positions(0, 40);
    records[17] = unsummable(17);
    let report = buckets
        .insert_many(&records)
        .from_source("s", 0)
        .await
        .unwrap();
    assert_eq!(report.stored(), 17);
    assert_eq!(first_failed(&report), 17);
    assert_eq!(report.failed().len(), 23);
    for failed in &report.failed()[1..] {
        let position = i64::try_from(failed.index).unwrap();
        assert!(
            is_held_back(&failed.error, position, 17),
            "{}",
            failed.error
        );
    }
    let report = buckets
        .insert_many(positions::<T>(17, 40))
        .from_source("s", 17)
        .await
        .unwrap();
    assert_eq!((report.stored(), report.duplicates().len()), (23, 0));
    // Refused by a validator until that is removed.
    let validator = doc! { "items.position": { "$nin": [45_i64, 61_i64] } };
    let validate = |validator: Document| {
        let command = doc! { "collMod": "orders", "validator": validator };
        database.run_command(command).into_future()
    };
    validate(validator).await.unwrap();
    let records: Vec<T> = positions(40, 80);
    let refused = buckets.insert_many(&records).from_source("s", 40).await;
    let refused = refused.unwrap();
    assert_eq!((refused.stored(), first_failed(&refused)), (5, 5));
    let error = &refused.failed()[0].error;
    assert!(
        matches!(error.kind(), ErrorKind::Server { code: 121, .. }),
        "{error}"
    );
    assert!(is_held_back(&refused.failed()[1].error, 46, 45));
    // It is refused again.
    let report = buckets.insert_many(&records[5..]).from_source("s", 45);
    let report = report.await.unwrap();
    assert_eq!((report.stored(), report.duplicates().len()), (0, 0));
    validate(doc! {}).await.unwrap();
    let report = buckets.insert_many(&records[5..]).from_source("s", 45);
    let report = report.await.unwrap();
    assert_eq!((report.stored(), report.duplicates().len()), (35, 0));
    let stored = stored(&documents(&database, "orders").await);
    assert!(stored.into_iter().eq((0..80).map(|position| (position, 1))));
}

#[tokio::test]
async fn no_position_skips_a_refused_record_in_pages() {
    check_refused::<Counted>().await;
}

#[tokio::test]
async fn no_position_skips_a_refused_record_in_windows() {
    check_refused::<Windowed>().await;
}

#[tokio::test]
async fn no_position_skips_a_refused_record_in_numbered_buckets() {
    check_refused::<Numbered>().await;
}

#[tokio::test]
async fn no_position_skips_a_refused_record_where_an_average_is_stored() {
    check_refused::<Averaged>().await;
}

#[tokio::test]
async fn a_refusal_in_a_transaction_ends_it_for_the_later_records_of_the_source() {
    let database = database().await;
    let buckets = Counted::buckets(&database);
    buckets.ensure().await.unwrap();
    let index = doc! { "name": "positions", "key": { "items.position": 1 }, "unique": true };
    let command = doc! { "createIndexes": "orders", "indexes": [index] };
    database.run_command(command).await.unwrap();
    buckets.insert(&Counted::at(17)).await.unwrap();
    let records: Vec<Counted> = positions(0, 40);
    let mut session = database.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let insert = buckets.insert_many(&records).from_source("s", 0);
    let report = insert.session(&mut session).await.unwrap();
    session.abort_transaction().await.unwrap();
    let failed = report.failed();
    assert!(failed[0].error.is_duplicate_key(), "{report:?}");
    let last = failed.last().unwrap();
    assert_eq!((last.index, last.error.code()), (39, Some(251)), "{last:?}");
    let is_known =
        |error: &bucket_mongo::Error| error.is_duplicate_key() || error.code() == Some(251);
    assert!(
        failed.iter().all(|failed| is_known(&failed.error)),
        "{report:?}"
    );
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "orders", items = "items", capacity = 10)]
struct Measured {
    #[bucket(key)]
    sensor: i64,
    #[bucket(time)]
    at: DateTime,
    #[bucket(sum)]
    value: f64,
}

#[tokio::test]
async fn an_invalid_value_holds_back_its_key_and_no_other() {
    let database = database().await;
    let buckets = Measured::buckets(&database);
    buckets.ensure().await.unwrap();
    let measured = |sensor: i64, value: f64| Measured {
        sensor,
        at: DateTime::from_millis(1_700_000_000_000),
        value,
    };
    let mut records = vec![
        measured(1, 0.0),
        measured(1, f64::NAN),
        measured(2, 2.0),
        measured(1, 3.0),
    ];
    let report = buckets.insert_many(&records).from_source("s", 0).await;
    let report = report.unwrap();
    let failed: Vec<usize> = report.failed().iter().map(|failed| failed.index).collect();
    assert_eq!((report.stored(), failed), (2, vec![1, 3]));
    records[1].value = 1.0;
    let report = buckets.insert_many(&records[1..]).from_source("s", 1).await;
    let report = report.unwrap();
    assert_eq!((report.stored(), report.duplicates()), (2, &[1_usize][..]));
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "orders", items = "items", capacity = 2)]
struct Large {
    #[bucket(key)]
    customer: i64,
    #[bucket(time)]
    at: DateTime,
    position: i64,
    text: String,
    #[bucket(sum)]
    value: f64,
}

/// Sixteen of these records fill a chunk.
#[tokio::test]
async fn held_back_records_are_held_back_for_the_entire_call() {
    let database = database().await;
    let buckets = Large::buckets(&database);
    buckets.ensure().await.unwrap();
    let validator = doc! { "items.position": { "$ne": 1_003 } };
    let validate = doc! { "collMod": "orders", "validator": validator };
    database.run_command(validate).await.unwrap();
    // One is refused when it is encoded, one by the server while the next chunk is encoded.
    for (first, value) in [(0, f64::NAN), (1_000, 3.0)] {
        let records = (first..first + 40).map(|position| Large {
            customer: first,
            at: DateTime::from_millis(1_700_000_000_000 + position),
            position,
            text: "x".repeat(2 * 1024 * 1024),
            value: if position == 3 { value } else { 1.0 },
        });
        let position = u64::try_from(first).unwrap();
        let report = buckets.insert_many(records).from_source("s", position);
        let report = report.await.unwrap();
        assert_eq!((report.tried(), report.stored()), (40, 3));
        let last = report.failed().last().unwrap();
        assert!(
            is_held_back(&last.error, first + 39, first + 3),
            "{}",
            last.error
        );
    }
}

#[tokio::test]
async fn positions_end_when_no_number_is_left() {
    let database = database().await;
    let buckets = Counted::buckets(&database);
    buckets.ensure().await.unwrap();
    let records = positions::<Counted>(0, 3);
    let last = u64::try_from(i64::MAX).unwrap();
    for (position, stored, duplicates) in [(last - 1, 2, 0), (last - 1, 0, 2), (last, 0, 1)] {
        let report = buckets.insert_many(&records).from_source("s", position);
        let report = report.await.unwrap();
        assert_eq!(
            (report.stored(), report.duplicates().len()),
            (stored, duplicates)
        );
        for failed in report.failed() {
            let kind = failed.error.kind();
            assert!(
                matches!(kind, ErrorKind::InvalidArgument { .. }),
                "{kind:?}"
            );
        }
    }
}

/// A handle that remembers positions of removed buckets.
async fn check_removed<T: Bucketed + From<Counted>>() {
    let database = database().await;
    let buckets = T::buckets(&database);
    let orders = database.collection::<Document>("orders");
    let batch: Vec<T> = positions(0, 20);
    for length in [1, 9, 10, 14, 20] {
        buckets.ensure().await.unwrap();
        let deliver = async || {
            let report = buckets.insert_many(&batch[..length]).from_source("s", 0);
            let report = report.await.unwrap();
            assert!(report.failed().is_empty(), "{:?}", report.failed());
            (report.stored(), report.duplicates().len())
        };
        assert_eq!(deliver().await, (length, 0));
        assert_eq!(deliver().await, (0, length));
        orders.delete_many(doc! { "customer": 7 }).await.unwrap();
        assert_eq!(
            deliver().await,
            (length, 0),
            "after the buckets were removed"
        );
        orders.drop().await.unwrap();
        T::buckets(&database).ensure().await.unwrap();
        assert_eq!(deliver().await, (length, 0), "after a new beginning");
        let stored = stored(&documents(&database, "orders").await);
        let length = i64::try_from(length).unwrap();
        assert!(
            stored
                .into_iter()
                .eq((0..length).map(|position| (position, 1)))
        );
        orders.drop().await.unwrap();
    }
}

#[tokio::test]
async fn a_duplicate_is_stored_again_after_its_bucket_was_removed_in_pages() {
    check_removed::<Counted>().await;
}

#[tokio::test]
async fn a_duplicate_is_stored_again_after_its_bucket_was_removed_in_windows() {
    check_removed::<Windowed>().await;
}

#[tokio::test]
async fn a_duplicate_is_stored_again_after_its_bucket_was_removed_in_numbered_buckets() {
    check_removed::<Numbered>().await;
}

const URI: &str = "BUCKET_TEST_SOURCE_URI";
const DATABASE: &str = "BUCKET_TEST_SOURCE_DATABASE";
const POSITIONS: i64 = 40_000;
/// It is killed each time this many further buckets exist: long before the end.
const BUCKETS: u64 = 500;

/// The process that is killed; run as a test, it does nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_in_a_process_of_its_own() {
    let (Ok(uri), Ok(name)) = (env::var(URI), env::var(DATABASE)) else {
        return;
    };
    let client = Client::with_uri_str(uri).await.unwrap();
    let buckets = Numbered::buckets(&client.database(&name));
    let mut from = 0;
    while from < POSITIONS {
        let to = (from + 700).min(POSITIONS);
        deliver(&buckets, Numbered::at, [from, to]).await;
        from = to;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_consumer_continues_without_loss_or_duplicates() {
    let database = database().await;
    Numbered::buckets(&database).ensure().await.unwrap();
    let start = || {
        let mut consumer = Command::new(env::current_exe().unwrap());
        consumer.args(["--exact", "sources::a_consumer_in_a_process_of_its_own"]);
        consumer.env(
            URI,
            futures_util::FutureExt::now_or_never(server())
                .unwrap()
                .uri(),
        );
        consumer.env(DATABASE, database.name());
        consumer
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut kills = 0;
    let orders = database.collection::<Document>("orders");
    for step in 1..=5 {
        let mut consumer = start();
        let is_running = loop {
            if let Some(ended) = consumer.try_wait().unwrap() {
                assert!(ended.success(), "{ended}");
                break false;
            }
            if orders.estimated_document_count().await.unwrap() >= step * BUCKETS {
                break true;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        };
        kills += usize::from(is_running);
        // `SIGKILL` on Unix.
        consumer.kill().unwrap();
        consumer.wait().unwrap();
    }
    assert!(kills > 0, "every consumer was faster than the kill");
    assert!(start().wait().unwrap().success());
    let stored = stored(&documents(&database, "orders").await);
    assert!(
        stored
            .into_iter()
            .eq((0..POSITIONS).map(|position| (position, 1)))
    );
}
