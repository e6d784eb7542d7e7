//! Records of a source that delivers again: each position is stored at most once, whatever batches it
//! comes in, whoever else writes, and however often the process dies.

use std::{
    collections::BTreeMap,
    env,
    process::{Command, Stdio},
    time::Duration,
};

use bucket_mongo::{
    Bucketed, Buckets, ErrorKind,
    mongodb::{
        Client,
        bson::{DateTime, Document},
    },
};
use bucket_tests::{database, documents, server};
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
            /// The record at this position; -1 for one of no source.
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

/// How often each position is stored, and that every count is right.
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

/// Batches that overlap and go back, by handles that remember and handles that do not, with records
/// of no source and of another one in between.
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
        buckets.insert_many(&own).await.unwrap();
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

/// Consumers of one partition that do not know of each other.
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
async fn consumers_at_the_same_time_store_each_position_once_in_pages() {
    check_consumers(Counted::at).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn consumers_at_the_same_time_store_each_position_once_in_windows() {
    check_consumers(Windowed::at).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn consumers_at_the_same_time_store_each_position_once_in_numbered_buckets() {
    check_consumers(Numbered::at).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn consumers_at_the_same_time_store_each_position_once_where_an_average_is_stored() {
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
async fn what_cannot_come_from_a_source_is_refused_before_anything_is_sent() {
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

const URI: &str = "BUCKET_TEST_SOURCE_URI";
const DATABASE: &str = "BUCKET_TEST_SOURCE_DATABASE";
const POSITIONS: i64 = 40_000;
/// It is killed each time so many further buckets are there: long before the end.
const BUCKETS: u64 = 500;

/// The process that is killed; as a test of its own it does nothing.
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
async fn a_consumer_that_is_killed_in_the_middle_goes_on_without_loss_or_double() {
    let database = database().await;
    Numbered::buckets(&database).ensure().await.unwrap();
    let start = || {
        let mut consumer = Command::new(env::current_exe().unwrap());
        consumer.args(["--exact", "a_consumer_in_a_process_of_its_own"]);
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
