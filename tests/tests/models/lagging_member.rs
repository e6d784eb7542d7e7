//! `ensure()` decides by what the primary has, also for a client that reads another member, which lags.

use std::time::Duration;

use bucket_core::index::Drift;
use bucket_mongo::{
    Bucketed,
    bson::{DateTime, Document, doc},
    mongodb::{Client, Database},
    testing::DevServer,
};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

const FAIL_POINT: &str = "rsSyncApplyStop";

macro_rules! models {
    ($($name:ident [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
        #[bucket(items = "items", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            device: String,
            #[bucket(time)]
            at: DateTime,
            number: i64,
        }

        impl $name {
            /// Records from 40 days ago.
            #[allow(dead_code, reason = "not all models store some")]
            fn old() -> Vec<Self> {
                let begin = DateTime::now().timestamp_millis() - 40 * 86_400_000;
                let record = |number| Self {
                    device: "a".to_owned(),
                    at: DateTime::from_millis(begin + number * 1_000),
                    number,
                };
                (0..20).map(record).collect()
            }
        }
    )*};
}

models! {
    Lasting [collection = "hours", window = "1h"];
    Expiring [collection = "hours", window = "1h", expire_after = "30d"];
    Numbered [collection = "numbers", capacity = 5, numbered];
    Counted [collection = "numbers", capacity = 5];
    Windows [collection = "numbers", window = "1h"];
}

/// A set whose last member applies nothing more, and a client that reads only this one.
async fn lagging() -> (DevServer, Client) {
    let parameters = ["enableTestCommands=1", "ttlMonitorSleepSecs=1"];
    let parameters = parameters.into_iter().flat_map(|it| ["--setParameter", it]);
    let server = DevServer::builder().members(3).own().arguments(parameters);
    let server = server.await.unwrap();
    let client = server.client().await.unwrap();
    let admin = client.database("admin");
    let reply = admin
        .run_command(doc! { "replSetGetConfig": 1 })
        .await
        .unwrap();
    let mut config = reply.get_document("config").unwrap().clone();
    let primary = server.primary().await.unwrap().address();
    let members = config.get_array_mut("members").unwrap().iter_mut();
    let lagging = members
        .filter_map(|member| member.as_document_mut())
        .find(|member| member.get_str("host").is_ok_and(|host| host != primary))
        .unwrap();
    // Without a vote, so that nothing waits for it.
    lagging.extend(doc! { "priority": 0, "votes": 0, "tags": { "is": "late" } });
    let host = lagging.get_str("host").unwrap().to_owned();
    let version = config.get_i32("version").unwrap();
    config.insert("version", version + 1);
    admin
        .run_command(doc! { "replSetReconfig": config })
        .await
        .unwrap();
    let direct = Client::with_uri_str(format!("mongodb://{host}/?directConnection=true"));
    let direct = direct.await.unwrap();
    let stop = doc! { "configureFailPoint": FAIL_POINT, "mode": "alwaysOn" };
    direct.database("admin").run_command(stop).await.unwrap();
    let uri = server.uri();
    let separator = if uri.contains('?') { '&' } else { '?' };
    let reads = "readPreference=secondary&readPreferenceTags=is:late";
    let reader = Client::with_uri_str(format!("{uri}{separator}{reads}"));
    (server, reader.await.unwrap())
}

async fn number_of_buckets(database: &Database, name: &str) -> u64 {
    let collection = database.collection::<Document>(name);
    collection.count_documents(doc! {}).await.unwrap()
}

async fn indexes(database: &Database, name: &str) -> Vec<String> {
    let indexes = database
        .collection::<Document>(name)
        .list_index_names()
        .await;
    let mut indexes = indexes.unwrap();
    indexes.sort();
    indexes
}

#[tokio::test(flavor = "multi_thread")]
async fn a_set_up_decides_by_what_the_primary_has() {
    let (server, reader) = lagging().await;
    let client = server.client().await.unwrap();
    let (theirs, mine) = (reader.database("lagging"), client.database("lagging"));
    // Its member has nothing of all this.
    Lasting::buckets(&mine).ensure().await.unwrap();
    let report = Lasting::buckets(&mine).insert_many(Lasting::old()).await;
    report.unwrap().into_result().unwrap();
    let buckets = number_of_buckets(&mine, "hours").await;
    assert_eq!(number_of_buckets(&theirs, "hours").await, 0);

    let report = Expiring::buckets(&theirs).ensure().await.unwrap();
    assert!(!report.drift.is_empty(), "{report}");
    assert!(
        !indexes(&mine, "hours")
            .await
            .contains(&"bucket_expire".to_owned())
    );
    // The server looks once a second.
    sleep(Duration::from_secs(3)).await;
    assert_eq!(number_of_buckets(&mine, "hours").await, buckets);

    Numbered::buckets(&mine).ensure().await.unwrap();
    let report = Numbered::buckets(&mine).insert_many(Numbered::old()).await;
    report.unwrap().into_result().unwrap();
    let before = indexes(&mine, "numbers").await;
    let report = Counted::buckets(&theirs)
        .ensure()
        .replace_indexes()
        .await
        .unwrap();
    let others = report
        .drift
        .iter()
        .any(|drift| matches!(drift, Drift::OtherModel { .. }));
    assert!(others, "{report}");
    assert_eq!(indexes(&mine, "numbers").await, before);

    // Its buckets say whose the collection is, without indexes too.
    mine.collection::<Document>("numbers")
        .drop_indexes()
        .await
        .unwrap();
    let report = Windows::buckets(&theirs).ensure().await.unwrap();
    assert!(!report.drift.is_empty(), "{report}");
    assert_eq!(indexes(&mine, "numbers").await, ["_id_"]);
    reader.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_set_up_needs_no_other_member() {
    let server = DevServer::builder().own().await.unwrap();
    let uri = server.uri();
    let separator = if uri.contains('?') { '&' } else { '?' };
    let secondary = "readPreference=secondary&serverSelectionTimeoutMS=500";
    let client = Client::with_uri_str(format!("{uri}{separator}{secondary}"));
    let database = client.await.unwrap().database("single");
    let report = Numbered::buckets(&database).ensure().await.unwrap();
    assert!(report.drift.is_empty(), "{report}");
    let report = Numbered::buckets(&database)
        .insert_many(Numbered::old())
        .await;
    assert_eq!(report.unwrap().stored(), 20);
}

/// After an upgrade from 5.0 to 6.0, until the feature compatibility version is raised.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_the_features_of_an_older_release_takes_records() {
    let server = DevServer::builder().own().await.unwrap();
    let client = server.client().await.unwrap();
    let database = client.database("older");
    // One handle has met the newer features, the other one has not.
    let living = Counted::buckets(&database);
    living.ensure().await.unwrap();
    living.insert(&Counted::old()[0]).await.unwrap();
    let admin = client.database("admin");
    let older = doc! { "setFeatureCompatibilityVersion": "5.0" };
    if admin.run_command(older).await.is_err() {
        // An older server, or a newer one that does not go so far back.
        return;
    }
    for events in [living, Counted::buckets(&database)] {
        events.insert(&Counted::old()[1]).await.unwrap();
        let report = events.insert_many(Counted::old()).await.unwrap();
        assert_eq!(report.stored(), 20);
        let ingestor = events.ingestor().start().unwrap();
        ingestor.push(&Counted::old()[2]).await.unwrap();
        ingestor.shutdown().await.into_result().unwrap();
        let mut session = client.start_session().await.unwrap();
        session.start_transaction().await.unwrap();
        events
            .insert_many(Counted::old())
            .session(&mut session)
            .await
            .unwrap()
            .into_result()
            .unwrap();
        session.commit_transaction().await.unwrap();
    }
    let events = Counted::buckets(&database);
    let stored: Vec<Counted> = events.records("a").stream().try_collect().await.unwrap();
    assert_eq!(stored.len(), 1 + 2 * 42);
    assert!(
        Counted::buckets(&database)
            .verify()
            .await
            .unwrap()
            .is_clean()
    );
}
