//! A handle that lives on while the collection is set up for another model.

use std::time::Duration;

use bucket_mongo::{
    Bucketed,
    bson::{DateTime, Document, doc},
    mongodb::{Client, options::ClientOptions},
    testing::DevServer,
};
use bucket_tests::{Load, database, documents};
use serde::{Deserialize, Serialize};
use tokio::time::{sleep, timeout};

/// After this time a write looks at the indexes again, as the book says.
const RELIES_FOR: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "events", items = "items", window = "1m")]
struct ByDevice {
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
}

#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "events", items = "items", window = "1m")]
struct BySite {
    #[bucket(key)]
    site: String,
    #[bucket(time)]
    at: DateTime,
}

#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "events", items = "items", capacity = 5)]
struct Counted {
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
}

async fn notices<T: Bucketed + Sync>(old: T) {
    let database = database().await;
    let living = T::buckets(&database);
    living.ensure().await.unwrap();
    living.insert(&old).await.unwrap();
    let events = database.collection::<Document>("events");
    events.delete_many(doc! {}).await.unwrap();
    let owner = BySite::buckets(&database);
    let report = owner.ensure().replace_indexes().await.unwrap();
    assert_eq!(report.drift, []);
    sleep(RELIES_FOR).await;
    let error = living.insert(&old).await.unwrap_err();
    assert!(error.is_drift(), "{error}");
    // Those that come after that, too.
    let error = living.insert(&old).await.unwrap_err();
    assert!(error.is_drift(), "{error}");
    assert_eq!(documents(&database, "events").await, Vec::<Document>::new());
    let new = BySite {
        site: "a".to_owned(),
        at: DateTime::from_millis(0),
    };
    owner.insert(&new).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn windows_of_other_keys_notice_that_the_collection_is_set_up_for_another_model() {
    let (device, at) = ("a".to_owned(), DateTime::from_millis(0));
    notices(ByDevice { device, at }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn counted_buckets_notice_that_the_collection_is_set_up_for_another_model() {
    let (device, at) = ("a".to_owned(), DateTime::from_millis(0));
    notices(Counted { device, at }).await;
}

/// The collection is dropped and set up again for the same model: nothing that is remembered of the old one counts.
#[tokio::test(flavor = "multi_thread")]
async fn a_look_at_a_collection_that_was_made_anew_forgets_the_old_one() {
    let database = database().await;
    let living = Counted::buckets(&database);
    living.ensure().await.unwrap();
    let record = |second: i64| Counted {
        device: "a".to_owned(),
        at: DateTime::from_millis(second * 1_000),
    };
    living.load((0..7).map(record)).await;
    let events = database.collection::<Document>("events");
    events.drop().await.unwrap();
    Counted::buckets(&database).ensure().await.unwrap();
    sleep(RELIES_FOR).await;
    living.load((7..10).map(record)).await;
    let stored = documents(&database, "events").await;
    let counts: Vec<_> = stored
        .iter()
        .map(|it| it.get_i32("count").unwrap())
        .collect();
    assert_eq!(counts, [3], "{stored:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ensure_has_found_the_writes_of_its_handle_find_at_once() {
    let database = database().await;
    let living = ByDevice::buckets(&database);
    living.ensure().await.unwrap();
    let (device, at) = ("a".to_owned(), DateTime::from_millis(0));
    let old = ByDevice { device, at };
    living.insert(&old).await.unwrap();
    let events = database.collection::<Document>("events");
    events.delete_many(doc! {}).await.unwrap();
    let owner = BySite::buckets(&database);
    owner.ensure().replace_indexes().await.unwrap();
    let report = living.ensure().await.unwrap();
    assert!(!report.drift.is_empty(), "{report}");
    let error = living.insert(&old).await.unwrap_err();
    assert!(error.is_drift(), "{error}");
    assert_eq!(documents(&database, "events").await, Vec::<Document>::new());
}

/// The filter of that removal has only the key.
#[tokio::test(flavor = "multi_thread")]
async fn no_handle_removes_a_key_of_another_model() {
    let database = database().await;
    let owner = Counted::buckets(&database);
    owner.ensure().await.unwrap();
    let (device, at) = ("a".to_owned(), DateTime::from_millis(0));
    owner.insert(&Counted { device, at }).await.unwrap();
    let wrong = ByDevice::buckets(&database);
    for is_dry in [true, false] {
        let removal = wrong.delete_key("a".to_owned());
        let removal = if is_dry { removal.dry_run() } else { removal };
        let error = removal.await.unwrap_err();
        assert!(error.is_drift(), "{error}");
    }
    assert_eq!(owner.count("a".to_owned()).await.unwrap(), 1);
    let removed = owner.delete_key("a".to_owned()).await.unwrap();
    assert_eq!(removed.records, 1);
}

/// The call that was to look is dropped, or the server does not answer it.
#[tokio::test(flavor = "multi_thread")]
async fn a_look_that_does_not_end_is_taken_again() {
    let server = DevServer::builder().own();
    let server = server.arguments(["--setParameter", "enableTestCommands=1"]);
    let server = server.await.unwrap();
    let mut options = ClientOptions::parse(server.uri()).await.unwrap();
    options.app_name = Some("living".to_owned());
    let client = Client::with_options(options).unwrap();
    let database = client.database("events");
    let living = ByDevice::buckets(&database);
    living.ensure().await.unwrap();
    let (device, at) = ("a".to_owned(), DateTime::from_millis(0));
    let old = ByDevice { device, at };
    living.insert(&old).await.unwrap();
    let others = server.client().await.unwrap().database("events");
    let events = others.collection::<Document>("events");
    events.delete_many(doc! {}).await.unwrap();
    let owner = BySite::buckets(&others);
    owner.ensure().replace_indexes().await.unwrap();
    sleep(RELIES_FOR).await;
    let held = doc! {
        "configureFailPoint": "failCommand", "mode": "alwaysOn",
        "data": {
            "failCommands": ["listCollections", "listIndexes"], "appName": "living",
            "blockConnection": true, "blockTimeMS": 5_000,
        },
    };
    let admin = others.client().database("admin");
    admin.run_command(held).await.unwrap();
    let soon = Duration::from_millis(300);
    let dropped = timeout(soon, living.insert(&old).into_future()).await;
    assert!(dropped.is_err());
    let error = living.insert(&old).deadline(soon).await.unwrap_err();
    assert!(!error.is_drift(), "{error}");
    let free = doc! { "configureFailPoint": "failCommand", "mode": "off" };
    admin.run_command(free).await.unwrap();
    let error = living.insert(&old).await.unwrap_err();
    assert!(error.is_drift(), "{error}");
    assert_eq!(events.count_documents(doc! {}).await.unwrap(), 0);
}
