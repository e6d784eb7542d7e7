//! The concerns and preferences of the client's URI apply to the caller's own commands. The
//! library's calls keep their guarantees under any of them.

use bucket_mongo::{
    Attributed, Bucketed, Interval,
    bson::{DateTime, Document, doc},
    mongodb::{Client, Database},
};
use bucket_tests::{database, server};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "readings",
    items = "readings",
    window = "1h",
    capacity = 3
)]
#[bucket(expire_after = "3650d")]
struct Reading {
    #[bucket(key)]
    device: i64,
    #[bucket(time)]
    at: DateTime,
    #[bucket(min, max, sum, avg)]
    value: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Attributed)]
#[bucket(collection = "bottles")]
struct Bottle {
    #[serde(rename = "_id")]
    id: i32,
    #[bucket(attribute(array = "specs", k = "volume", u = "ml"))]
    volume_ml: Option<i32>,
}

const SETTINGS: [&str; 8] = [
    "w=0",
    "w=1&journal=false",
    "readConcernLevel=majority",
    "readConcernLevel=local",
    "readConcernLevel=snapshot",
    "readConcernLevel=linearizable",
    "readConcernLevel=available",
    "readPreference=secondaryPreferred",
];

async fn with_buckets(database: &Database) {
    let readings = Reading::buckets(database);
    assert!(readings.ensure().await.unwrap().created_collection);
    let start = DateTime::now().timestamp_millis() / 3_600_000 * 3_600_000;
    let reading = |n: i64| Reading {
        device: 1,
        at: DateTime::from_millis(start + n),
        value: n,
    };
    let all: Vec<Reading> = (0..10).map(reading).collect();
    readings.insert(&all[0]).await.unwrap();
    let report = readings.insert_many(&all[1..]).await.unwrap();
    assert_eq!(report.stored(), 9);
    let report = readings.ensure().change_expiry().await.unwrap();
    assert!(report.drift.is_empty(), "{report}");

    assert_eq!(readings.count(1).await.unwrap(), 10);
    assert_eq!(readings.page_count(1).await.unwrap(), 4);
    assert_eq!(readings.page(1, 4).await.unwrap().records(), &all[9..]);
    let pages = readings.pages(1).stream();
    assert_eq!(pages.try_collect::<Vec<_>>().await.unwrap().len(), 4);
    assert_eq!(readings.records(1).collect().await.unwrap(), all);
    assert_eq!(readings.latest(1).await.unwrap().as_ref(), all.last());
    assert_eq!(readings.latest_n(1, 2).await.unwrap().len(), 2);
    let latest = readings.latest_per_key().stream();
    assert_eq!(latest.try_collect::<Vec<_>>().await.unwrap(), all[9..]);
    let span = || all[0].at..DateTime::from_millis(start + 3_600_000);
    assert_eq!(readings.range(1, span()).await.unwrap(), all);
    let every_key = readings.range_all_keys(span()).stream();
    assert_eq!(every_key.try_collect::<Vec<_>>().await.unwrap(), all);
    let stats = readings.stats(1, span()).await.unwrap().unwrap();
    assert_eq!(stats.count(), 10);
    let rollup = readings
        .rollup(1, span(), Interval::minutes(30))
        .await
        .unwrap();
    assert!(!rollup.rows().is_empty());
}

/// What is done with stored records, by edits that begin a transaction too, and how it is followed.
async fn with_edits(database: &Database) {
    let readings = Reading::buckets(database);
    let mut watched = readings.watch().await.unwrap();
    let stored = readings.range(1, ..).with_refs().await.unwrap();
    let moved = readings.update(1, &stored[1].reference, |it| it.device = 2);
    assert!(moved.await.unwrap().is_some());
    let removed = readings.delete(1, &stored[2].reference).await.unwrap();
    assert_eq!(removed.unwrap().value, 2);
    for _ in 0..2 {
        assert!(watched.try_next().await.unwrap().is_some());
    }
    let mut tails = [
        readings.tail().await.unwrap(),
        readings.tail_key(1).await.unwrap(),
    ];
    for tail in &mut tails {
        assert!(tail.try_next().await.unwrap().is_some());
    }
    assert_eq!(readings.keys().await.unwrap().len(), 2);
    assert!(readings.verify().await.unwrap().is_clean());
    assert_eq!(readings.delete_key(2).await.unwrap().records, 1);
}

async fn with_documents(database: &Database) {
    let bottles = Bottle::documents(database);
    bottles.ensure().await.unwrap();
    let bottle = |id: i32| Bottle {
        id,
        volume_ml: Some(id * 100),
    };
    bottles.insert(&bottle(1)).await.unwrap();
    let report = bottles.insert_many([bottle(2), bottle(3)]).await.unwrap();
    assert_eq!(report.stored(), 2);
    let large = bottles.find(Bottle::specs().volume().ml().gte(200)).await;
    assert_eq!(large.unwrap().len(), 2);
    let back = bottles.migrate_to_fields().await.unwrap();
    assert_eq!((back.changed, back.left), (3, 0));
    let there = bottles.migrate_to_attributes().await.unwrap();
    assert_eq!((there.changed, there.left), (3, 0));
    assert_eq!(bottles.find(doc! {}).await.unwrap().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_keeps_its_guarantees_under_any_concern_and_preference_of_the_client() {
    for setting in SETTINGS {
        let mine = database().await;
        let uri = server().await.uri();
        let separator = if uri.contains('?') { '&' } else { '?' };
        let client = Client::with_uri_str(format!("{uri}{separator}{setting}")).await;
        let client = client.unwrap();
        let theirs = client.database(mine.name());
        with_buckets(&theirs).await;
        with_documents(&theirs).await;
        with_edits(&theirs).await;
        let stored = mine.collection::<Document>("readings");
        assert_eq!(stored.count_documents(doc! {}).await.unwrap(), 4);
        // The caller's own commands use the client's settings.
        assert_eq!(
            Reading::buckets(&theirs)
                .collection::<Document>()
                .write_concern(),
            theirs.write_concern()
        );
        client.shutdown().await;
    }
}
