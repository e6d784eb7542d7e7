//! Single inserts of many tasks share commands: each caller gets the result of its own record, and nothing is lost or
//! doubled.

use std::{collections::BTreeSet, time::Duration};

use bucket_mongo::{
    Bucketed, Buckets, Error, Inserted, RecordOutcome,
    bson::{DateTime, Document, doc},
    mongodb::options::ClientOptions,
};
use bucket_tests::{database, documents, profiled, server};
use futures_util::{TryStreamExt, future::join_all};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

trait Of: Bucketed + Send + Sync + 'static {
    fn of(device: i64, number: i64) -> Self;
    fn number(&self) -> i64;
}

macro_rules! models {
    ($($name:ident [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            device: i64,
            #[bucket(time)]
            at: DateTime,
            #[bucket(unique, sum = "total")]
            number: i64,
        }

        impl Of for $name {
            fn of(device: i64, number: i64) -> Self {
                let at = DateTime::from_millis(1_700_000_000_000 + number * 10);
                Self { device, at, number }
            }

            fn number(&self) -> i64 {
                self.number
            }
        }
    )*};
}

models! {
    Counted [capacity = 10];
    Windowed [window = "10s", capacity = 50];
    Hybrid [capacity = 20, max_duration = "10s", late = "merge"];
    Numbered [capacity = 10, numbered];
}

const TASKS: i64 = 64;
const DEVICES: i64 = 7;

async fn insert<T: Of>(events: Buckets<T>, number: i64) -> Result<Inserted, Error> {
    events.insert(&T::of(number % DEVICES, number)).await
}

/// Each of these by a task of its own.
async fn at_once<T: Of>(
    events: &Buckets<T>,
    numbers: impl Iterator<Item = i64>,
) -> Vec<Result<Inserted, Error>> {
    let tasks = numbers.map(|number| tokio::spawn(insert(events.clone(), number)));
    let ended = join_all(tasks).await.into_iter();
    ended.map(Result::unwrap).collect()
}

async fn numbers<T: Of>(events: &Buckets<T>) -> BTreeSet<i64> {
    let mut all = BTreeSet::new();
    for device in 0..DEVICES {
        let stored = events.records(T::of(device, 0).key()).stream();
        let stored: Vec<T> = stored.try_collect().await.unwrap();
        for record in stored {
            assert!(
                all.insert(record.number()),
                "{} is stored twice",
                record.number()
            );
        }
    }
    all
}

async fn each_record_is_stored_once<T: Of>() {
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    let mut opened = 0;
    for round in 0..5 {
        for inserted in at_once(&events, round * TASKS..(round + 1) * TASKS).await {
            let inserted = inserted.unwrap();
            assert_eq!(inserted.outcome, RecordOutcome::Stored);
            opened += usize::from(inserted.opened_bucket);
        }
    }
    assert_eq!(opened, documents(&database, "events").await.len());
    assert!(numbers(&events).await.into_iter().eq(0..5 * TASKS));
    for again in at_once(&events, 0..TASKS).await {
        assert_eq!(again.unwrap().outcome, RecordOutcome::Duplicate);
    }
    let report = events.verify().await.unwrap();
    assert!(report.is_clean(), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_record_of_many_tasks_is_stored_once() {
    each_record_is_stored_once::<Counted>().await;
    each_record_is_stored_once::<Windowed>().await;
    each_record_is_stored_once::<Hybrid>().await;
    each_record_is_stored_once::<Numbered>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn records_of_one_key_share_statements() {
    let database = database().await;
    let events = Windowed::buckets(&database);
    events.ensure().await.unwrap();
    let of_one_key = (0..TASKS * 4).map(|number| number * DEVICES);
    let (ended, profile) = profiled(&database, "events", at_once(&events, of_one_key)).await;
    assert!(ended.into_iter().all(|inserted| inserted.is_ok()));
    let writes = |done: &&Document| matches!(done.get_str("op"), Ok("update" | "insert"));
    let statements = profile.iter().filter(writes).count();
    assert!(statements < 128, "{statements} statements for 256 records");
}

/// The server refuses each seventh number.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_record_fails_only_for_its_own_caller() {
    let database = database().await;
    let events = Numbered::buckets(&database);
    events.ensure().await.unwrap();
    let foreign = doc! { "_id": "3_0000000001", "device": "another" };
    let collection = database.collection::<Document>("events");
    collection.insert_one(foreign).await.unwrap();
    for (number, inserted) in (0..).zip(at_once(&events, 0..TASKS).await) {
        if number % DEVICES != 3 {
            inserted.unwrap();
            continue;
        }
        let error = inserted.unwrap_err();
        assert_eq!(error.operation(), "insert");
        assert_eq!(error.key(), Some("{ device: 3 }"));
        assert!(!error.is_outcome_unknown(), "{error}");
    }
    let stored = (0..TASKS).filter(|number| number % DEVICES != 3);
    let stored: BTreeSet<i64> = stored.collect();
    let mut found = BTreeSet::new();
    for device in (0..DEVICES).filter(|device| *device != 3) {
        let records = events.records(device).collect().await.unwrap();
        found.extend(records.iter().map(|record| record.number));
    }
    assert_eq!(found, stored);
}

/// Calls that are dropped at any moment store their records once, or not at all, and stop no others.
#[tokio::test(flavor = "multi_thread")]
async fn dropped_calls_stop_no_others() {
    let database = database().await;
    let mut options = ClientOptions::parse(server().await.uri()).await.unwrap();
    options.max_pool_size = Some(3);
    let client = bucket_mongo::mongodb::Client::with_options(options).unwrap();
    let events = Counted::buckets(&client.database(database.name()));
    events.ensure().await.unwrap();
    let tasks = (0..TASKS * 8).map(|number| {
        let events = events.clone();
        tokio::spawn(async move {
            let insert = insert(events, number);
            if number % 3 == 0 {
                let patience = Duration::from_micros(u64::try_from(number).unwrap() * 40);
                return timeout(patience, insert)
                    .await
                    .is_ok_and(|ended| ended.is_ok());
            }
            insert.await.unwrap();
            true
        })
    });
    let stored = join_all(tasks).await.into_iter().map(Result::unwrap);
    let stored: Vec<bool> = stored.collect();
    tokio::time::sleep(Duration::from_millis(500)).await;
    let found = numbers(&events).await;
    for (number, is_stored) in (0..).zip(stored) {
        assert!(!is_stored || found.contains(&number), "{number} is lost");
    }
    let report = events.verify().await.unwrap();
    assert!(report.is_clean(), "{report}");
}
