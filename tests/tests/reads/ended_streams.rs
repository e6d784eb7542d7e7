//! A stream of a read that has ended stays ended, however often it is polled. Every error ends it, except
//! that of a damaged bucket.

use std::fmt::Debug;

use bucket_mongo::{
    Bucketed, Buckets, ErrorKind,
    bson::{DateTime, Document, doc},
    testing::{DevServer, TestDatabase},
};
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "values", items = "values", capacity = 2)]
struct Value {
    #[bucket(key)]
    device: i64,
    #[bucket(key)]
    sensor: i64,
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

#[tokio::test(flavor = "multi_thread")]
async fn at_the_first_error_that_is_no_damage_whatever_is_under_way() {
    let arguments = ["--setParameter", "enableTestCommands=1"];
    let server = DevServer::builder().own().arguments(arguments);
    let server = server.await.unwrap();
    let client = server.client().await.unwrap();
    let database = client.database("ended");
    let values = Value::buckets(&database);
    values.ensure().await.unwrap();
    let sensors = (0..7).flat_map(|device| (0..3).map(move |sensor| (device, sensor)));
    let records = sensors.map(|(device, sensor)| Value {
        device,
        sensor,
        at: DateTime::from_millis(device),
    });
    let report = values.insert_many(records).await.unwrap();
    report.into_result().unwrap();
    assert_eq!(values.latest_per_key().await.unwrap().len(), 21);
    // The commands for the devices, which are seven, all fail.
    let admin = client.database("admin");
    let after_the_first = doc! {
        "configureFailPoint": "failCommand",
        "mode": { "skip": 2 },
        "data": { "failCommands": ["aggregate"], "errorCode": 13 },
    };
    admin.run_command(after_the_first).await.unwrap();
    let stream = values.latest_per_key().stream();
    let found: Vec<_> = stream.collect().await;
    let errors = found.iter().filter(|found| found.is_err()).count();
    assert_eq!(errors, 1, "{found:?}");
    assert!(found.last().is_some_and(Result::is_err), "{found:?}");
    // The others have one command or merge a few.
    let every = doc! {
        "configureFailPoint": "failCommand",
        "mode": "alwaysOn",
        "data": { "failCommands": ["find", "aggregate"], "errorCode": 13 },
    };
    admin.run_command(every).await.unwrap();
    ends(values.records((1, 1)).stream(), 1).await;
    ends(values.range((1, 1), ..).stream(), 1).await;
    ends(values.range_many([(1, 1), (1, 2)], ..).stream(), 1).await;
    ends(values.pages((1, 1)).stream(), 1).await;
    ends(values.latest_per_key().stream(), 1).await;
    let off = doc! { "configureFailPoint": "failCommand", "mode": "off" };
    admin.run_command(off).await.unwrap();
}

#[tokio::test]
async fn at_no_damaged_bucket() {
    let database = database().await;
    let values = Value::buckets(&database);
    values.ensure().await.unwrap();
    let records = (0..3).map(|device| Value {
        device,
        sensor: 1,
        at: DateTime::from_millis(device),
    });
    let report = values.insert_many(records).await.unwrap();
    report.into_result().unwrap();
    let collection = database.collection::<Document>("values");
    let damage = doc! { "$set": { "count": "many" } };
    collection
        .update_many(doc! { "device": { "$ne": 1 } }, damage)
        .await
        .unwrap();
    let found: Vec<_> = values.latest_per_key().stream().collect().await;
    let damaged = found.iter().filter_map(|found| found.as_ref().err());
    let is_damaged = |error: &bucket_mongo::Error| matches!(error.kind(), ErrorKind::Damaged(_));
    assert_eq!(damaged.filter(|error| is_damaged(error)).count(), 2);
    assert_eq!(found.iter().flatten().count(), 1);
}

/// What takes the collection away under a read.
#[derive(Debug, Clone, Copy)]
enum Away {
    Dropped,
    Renamed,
    MadeAnew,
}

/// Reads one item, takes the collection away, and reads on: all items, or an error that says to read again.
async fn does_not_end_early<R: Debug>(
    mut stream: impl Stream<Item = bucket_mongo::Result<R>> + Unpin,
    values: &Buckets<Value>,
    database: &TestDatabase,
    away: Away,
) {
    stream.next().await.unwrap().unwrap();
    let collection = database.collection::<Document>("values");
    match away {
        Away::Renamed => {
            let name = |name: &str| format!("{}.{name}", database.name());
            let rename =
                doc! { "renameCollection": name("values"), "to": name("old"), "dropTarget": true };
            let admin = database.client().database("admin");
            admin.run_command(rename).await.unwrap();
        }
        Away::Dropped => collection.drop().await.unwrap(),
        Away::MadeAnew => {
            collection.drop().await.unwrap();
            values.ensure().await.unwrap();
        }
    }
    let rest: Vec<_> = stream.collect().await;
    let given = 1 + rest.iter().filter(|found| found.is_ok()).count();
    match rest.into_iter().find_map(Result::err) {
        Some(error) => assert!(error.is_retryable(), "{away:?}: {error:?}"),
        None => assert_eq!(given, 150, "{away:?}"),
    }
}

#[tokio::test]
async fn a_walk_over_keys_does_not_end_early_without_an_error_if_its_collection_is_taken_away() {
    let database = database().await;
    let values = Value::buckets(&database);
    let prepare = async || {
        let collection = database.collection::<Document>("values");
        collection.drop().await.unwrap();
        values.ensure().await.unwrap();
        let records = (0..150).map(|n| Value {
            device: n / 3,
            sensor: n,
            at: DateTime::from_millis(n * 1_000),
        });
        let report = values.insert_many(records).await.unwrap();
        report.into_result().unwrap();
    };
    for away in [Away::Dropped, Away::Renamed, Away::MadeAnew] {
        prepare().await;
        let keys = values.keys().stream();
        does_not_end_early(keys, &values, &database, away).await;
        prepare().await;
        let latest = values.latest_per_key().stream();
        does_not_end_early(latest, &values, &database, away).await;
        prepare().await;
        let summaries = values.keys().summaries().stream();
        does_not_end_early(summaries, &values, &database, away).await;
    }
    // A session that reads a snapshot finds the collection by its name of today.
    for away in [Away::Dropped, Away::Renamed] {
        prepare().await;
        let session = database.client().start_session().snapshot(true);
        let mut session = session.await.unwrap();
        let keys = values.keys().session(&mut session).stream();
        does_not_end_early(keys, &values, &database, away).await;
    }
    // Whatever was there before the read does not matter.
    prepare().await;
    assert_eq!(values.keys().await.unwrap().len(), 150);
}
