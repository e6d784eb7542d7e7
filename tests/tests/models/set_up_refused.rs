//! What a call of `ensure()` leaves that ends in the middle: the next one finds it, and nothing is stored twice or
//! removed because of it.

use bucket_mongo::{
    Bucketed, RecordOutcome,
    bson::{Bson, DateTime, Document, doc},
    mongodb::{Client, Database, options::ClientOptions},
    testing::DevServer,
};
use bucket_tests::database;
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

macro_rules! models {
    ($($name:ident [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            device: i32,
            #[bucket(time)]
            at: DateTime,
            #[bucket(unique)]
            number: i64,
        }

        impl Of for $name {
            fn of(number: i64) -> Self {
                Self { device: 1, at: DateTime::now(), number }
            }
        }
    )*};
}

trait Of {
    fn of(number: i64) -> Self;
}

models! {
    Counted [capacity = 5];
    Smaller [capacity = 2];
    Limited [capacity = 5, expire_after = "1d"];
    Numbered [capacity = 5, numbered];
    LimitedNumbered [capacity = 5, numbered, expire_after = "1d"];
}

/// The server refuses this command of this database's client, as one without the right to it: once or always.
async fn refusing(server: &DevServer, command: &str, mode: impl Into<Bson>) -> Database {
    let mut options = ClientOptions::parse(server.uri()).await.unwrap();
    options.app_name = Some(command.to_owned());
    let client = Client::with_options(options).unwrap();
    let data = doc! { "failCommands": [command], "errorCode": 13, "appName": command };
    let point = doc! { "configureFailPoint": "failCommand", "mode": mode.into(), "data": data };
    client.database("admin").run_command(point).await.unwrap();
    client.database("events")
}

async fn server() -> DevServer {
    let arguments = ["--setParameter", "enableTestCommands=1"];
    let server = DevServer::builder().own().arguments(arguments);
    server.await.unwrap()
}

/// A collection of the counted model, with this record.
async fn with_a_record() -> (DevServer, Database, Counted) {
    let server = server().await;
    let database = server.client().await.unwrap().database("events");
    let counted = Counted::buckets(&database);
    counted.ensure().await.unwrap();
    let record = Counted::of(1);
    counted.insert(&record).await.unwrap();
    (server, database, record)
}

async fn undated(database: &Database) -> u64 {
    let events = database.collection::<Document>("events");
    let none = doc! { "expire_from": { "$exists": false } };
    events.count_documents(none).await.unwrap()
}

async fn index_names(database: &Database) -> Vec<String> {
    let events = database.collection::<Document>("events");
    let mut names = events.list_index_names().await.unwrap();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_whose_buckets_could_not_be_dated_is_still_asked_for() {
    macro_rules! check {
        ($plain:ident, $limited:ident) => {
            let server = server().await;
            let database = server.client().await.unwrap().database("events");
            let plain = $plain::buckets(&database);
            plain.ensure().await.unwrap();
            let records = (0..12).map($plain::of);
            plain
                .insert_many(records)
                .await
                .unwrap()
                .into_result()
                .unwrap();
            let refusing = refusing(&server, "update", "alwaysOn").await;
            let refused = $limited::buckets(&refusing);
            let error = refused.ensure().change_expiry().await.unwrap_err();
            assert!(error.is_unauthorized(), "{error}");
            let limited = $limited::buckets(&database);
            let report = limited.ensure().await.unwrap();
            assert!(report.to_string().contains("change_expiry()"), "{report}");
            let report = limited.ensure().change_expiry().await.unwrap();
            assert!(
                report.dated_buckets > 0 && report.drift.is_empty(),
                "{report}"
            );
            assert_eq!(undated(&database).await, 0);
        };
    }
    check!(Counted, Limited);
    check!(Numbered, LimitedNumbered);
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_that_are_no_buckets_get_no_date() {
    let database = database().await;
    let others = database.collection::<Document>("events");
    let others_documents = vec![
        doc! { "_id": 1, "mine": true },
        doc! { "_id": 2, "count": 7, "name": "x" },
        doc! { "_id": 3, "count": 9, "items": [] },
        doc! { "_id": 4, "count": 9, "device": 7, "items": "none" },
    ];
    others.insert_many(&others_documents).await.unwrap();
    let limited = Limited::buckets(&database);
    limited.ensure().change_expiry().await.unwrap();
    let left: Vec<Document> = others
        .find(doc! {})
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    assert_eq!(left, others_documents);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_cannot_be_replaced_stays() {
    let (server, database, record) = with_a_record().await;
    let counted = Counted::buckets(&database);
    let events = database.collection::<Document>("events");
    events.drop_index("bucket_unique").await.unwrap();
    // Another tool has made it once more.
    let wider = doc! { "createIndexes": "events", "indexes": [{
        "key": { "device": 1, "items.number": 1 }, "name": "bucket_unique", "unique": true,
        "partialFilterExpression": { "items.number": { "$exists": true } },
    }] };
    database.run_command(wider).await.unwrap();
    let before = index_names(&database).await;
    let refusing = refusing(&server, "createIndexes", doc! { "times": 1 }).await;
    let refused = Counted::buckets(&refusing);
    let error = refused.ensure().replace_indexes().await.unwrap_err();
    assert!(error.is_unauthorized(), "{error}");
    assert_eq!(index_names(&database).await, before);
    counted.ensure().replace_indexes().await.unwrap();
    let again = counted.insert(&record).await.unwrap();
    assert_eq!(again.outcome, RecordOutcome::Duplicate);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hidden_index_is_shown_again_without_a_gap() {
    let (server, database, record) = with_a_record().await;
    let counted = Counted::buckets(&database);
    let before = index_names(&database).await;
    for name in ["bucket_unique", "bucket_open_5", "bucket_pages"] {
        let hide = doc! { "collMod": "events", "index": { "name": name, "hidden": true } };
        database.run_command(hide).await.unwrap();
    }
    assert_eq!(counted.ensure().await.unwrap().drift.len(), 3);
    // Nothing is dropped or made anew.
    let refusing = refusing(&server, "dropIndexes", "alwaysOn").await;
    let report = Counted::buckets(&refusing)
        .ensure()
        .replace_indexes()
        .await
        .unwrap();
    assert_eq!(report.changed_indexes.len(), 3, "{report}");
    assert!(counted.ensure().await.unwrap().drift.is_empty());
    assert_eq!(index_names(&database).await, before);
    let again = counted.insert(&record).await.unwrap();
    assert_eq!(again.outcome, RecordOutcome::Duplicate);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_capacity_that_could_not_replace_the_old_one_leaves_nothing() {
    let (server, database, _) = with_a_record().await;
    let before = index_names(&database).await;
    let refusing = refusing(&server, "dropIndexes", "alwaysOn").await;
    let smaller = Smaller::buckets(&refusing).ensure().replace_indexes().await;
    assert!(smaller.unwrap_err().is_unauthorized());
    assert_eq!(index_names(&database).await, before);
    Counted::buckets(&database)
        .insert(&Counted::of(2))
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hidden_expiry_index_gets_the_limit_of_the_model() {
    let database = database().await;
    let limited = Limited::buckets(&database);
    limited.ensure().await.unwrap();
    limited.insert(&Limited::of(1)).await.unwrap();
    let change = doc! { "name": "bucket_expire", "hidden": true, "expireAfterSeconds": 60 };
    database
        .run_command(doc! { "collMod": "events", "index": change })
        .await
        .unwrap();
    let report = limited
        .ensure()
        .replace_indexes()
        .change_expiry()
        .await
        .unwrap();
    assert!(report.drift.is_empty(), "{report}");
    assert!(limited.ensure().await.unwrap().drift.is_empty());
}

/// A writer of the model without the limit stores records and no date.
#[tokio::test(flavor = "multi_thread")]
async fn no_date_removes_a_later_record() {
    let database = database().await;
    let (plain, limited) = (Counted::buckets(&database), Limited::buckets(&database));
    plain.ensure().await.unwrap();
    let early = DateTime::from_millis(DateTime::now().timestamp_millis() - 80_000_000);
    let early = Limited {
        at: early,
        ..Limited::of(1)
    };
    limited.insert(&early).await.unwrap();
    let last = Counted::of(2);
    plain.insert(&last).await.unwrap();
    let report = limited.ensure().change_expiry().await.unwrap();
    assert_eq!(report.dated_buckets, 1);
    let events = database.collection::<Document>("events");
    let bucket = events.find_one(doc! {}).await.unwrap().unwrap();
    assert_eq!(bucket.get_datetime("expire_from").unwrap(), &last.at);
    let again = limited.ensure().change_expiry().await.unwrap();
    assert_eq!(again.dated_buckets, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_is_dropped_by_nobody_who_may_create_none_and_named_if_it_is_gone() {
    let (server, database, _) = with_a_record().await;
    let events = database.collection::<Document>("events");
    events.drop_index("bucket_unique").await.unwrap();
    let sparse = doc! { "createIndexes": "events", "indexes": [
        { "key": { "device": 1, "items.number": 1 }, "name": "bucket_unique", "sparse": true },
    ] };
    database.run_command(sparse).await.unwrap();
    let before = index_names(&database).await;
    let replace = |database: &Database| {
        let refused = Counted::buckets(database);
        async move { refused.ensure().replace_indexes().await.unwrap_err() }
    };
    let error = replace(&refusing(&server, "createIndexes", "alwaysOn").await).await;
    assert!(error.is_unauthorized(), "{error}");
    assert_eq!(index_names(&database).await, before);
    // The first command of this name only asks whether it may.
    let mode = doc! { "skip": 1 };
    let error = replace(&refusing(&server, "createIndexes", mode).await).await;
    let text = error.to_string();
    assert!(
        text.contains("bucket_unique") && text.contains("it was dropped"),
        "{text}"
    );
    assert_ne!(index_names(&database).await, before);
}
