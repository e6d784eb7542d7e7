//! `ensure`: idempotent, safe to run concurrently, destroys nothing, reports differences.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bucket_core::index::{self, Drift};
use bucket_mongo::{
    Bucketed, ErrorKind,
    bson::{DateTime, Document, doc},
    mongodb::{
        Client, Database,
        event::{EventHandler, command::CommandEvent},
        options::ClientOptions,
    },
    testing::TestDatabase,
};
use bucket_tests::{Load, database, documents, server};
use futures_util::{TryStreamExt, future::join_all};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "events", items = "events", capacity = 10)]
struct Event {
    #[bucket(key)]
    source: i32,
    #[bucket(time)]
    at: DateTime,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "events", items = "events", capacity = 20)]
struct Wider {
    #[bucket(key)]
    source: i32,
    #[bucket(time)]
    at: DateTime,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "wide", items = "items", capacity = 20_000)]
struct Wide {
    #[bucket(key)]
    source: i32,
    #[bucket(time)]
    at: DateTime,
}

fn event(source: i32, second: i64) -> Event {
    Event {
        source,
        at: DateTime::from_millis(second * 1000),
    }
}

async fn index_names(database: &Database) -> Vec<String> {
    let mut names = database
        .collection::<Document>("events")
        .list_index_names()
        .await
        .unwrap();
    names.sort();
    names
}

#[tokio::test]
async fn the_first_run_creates_and_the_second_run_finds() {
    let database = database().await;
    let events = Event::buckets(&database);
    let first = events.ensure().await.unwrap();
    assert!(first.created_collection);
    assert_eq!(first.created_indexes, ["bucket_open_10", "bucket_pages"]);
    assert!(first.found_indexes.is_empty() && first.drift.is_empty());
    assert_eq!(first.size_warning, None);
    let second = events.ensure().await.unwrap();
    assert!(!second.created_collection && second.created_indexes.is_empty());
    assert_eq!(second.found_indexes, ["bucket_open_10", "bucket_pages"]);
    assert_eq!(
        index_names(&database).await,
        ["_id_", "bucket_open_10", "bucket_pages"]
    );
    assert_eq!(
        second.to_string(),
        "collection found\nindex `bucket_open_10` found\nindex `bucket_pages` found",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn many_processes_may_run_it_at_once() {
    let database = database().await;
    let events = Event::buckets(&database);
    let runs = (0..8).map(|_| async { events.ensure().await });
    for report in join_all(runs).await {
        assert!(report.unwrap().drift.is_empty());
    }
    assert_eq!(
        index_names(&database).await,
        ["_id_", "bucket_open_10", "bucket_pages"]
    );
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "events", items = "events", capacity = 30)]
struct Widest {
    #[bucket(key)]
    source: i32,
    #[bucket(time)]
    at: DateTime,
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_capacities_at_once_one_has_its_index_and_the_others_report_it() {
    let database = database().await;
    let events = Event::buckets(&database);
    let (wider, widest) = (Wider::buckets(&database), Widest::buckets(&database));
    for round in 0..20 {
        database
            .collection::<Document>("events")
            .drop()
            .await
            .unwrap();
        // Some start a little later.
        let pause = |turn: u64| {
            let millis = (round * 7 + turn * 3) % 5 * round / 4;
            tokio::time::sleep(std::time::Duration::from_millis(millis))
        };
        let (one, two, three) = tokio::join!(
            async {
                pause(0).await;
                events.ensure().await.unwrap()
            },
            async {
                pause(1).await;
                wider.ensure().await.unwrap()
            },
            async {
                pause(2).await;
                widest.ensure().await.unwrap()
            },
        );
        let mut open = index_names(&database).await;
        open.retain(|name| name.starts_with("bucket_open_"));
        assert_eq!(open.len(), 1, "round {round}: {open:?}");
        for (own, report) in [(10, &one), (20, &two), (30, &three)] {
            let own = format!("bucket_open_{own}");
            let has_drift = report
                .drift
                .iter()
                .any(|drift| matches!(drift, Drift::Capacity { .. }));
            assert_eq!(has_drift, own != open[0], "round {round}: {report}");
            assert_eq!(
                report.created_indexes.contains(&own),
                own == open[0],
                "{report}"
            );
        }
    }
}

#[tokio::test]
async fn an_index_that_differs_is_reported_and_does_not_change() {
    let database = database().await;
    let events = Event::buckets(&database);
    let index = doc! { "name": "bucket_pages", "key": { "source": -1 } };
    let create = doc! { "createIndexes": "events", "indexes": [index] };
    database.run_command(create).await.unwrap();
    let report = events.ensure().await.unwrap();
    assert!(!report.created_collection);
    assert_eq!(report.created_indexes, ["bucket_open_10"]);
    let [
        Drift::Index {
            name,
            expected,
            found,
            ..
        },
    ] = report.drift.as_slice()
    else {
        panic!("{:?}", report.drift)
    };
    assert_eq!(name, "bucket_pages");
    assert_eq!(
        expected.get_document("key").unwrap(),
        &doc! { "source": 1, "_id": 1 }
    );
    assert_eq!(found.get_document("key").unwrap(), &doc! { "source": -1 });
    let pages = database
        .collection::<Document>("events")
        .list_indexes()
        .await
        .unwrap();
    let pages: Vec<_> = pages.try_collect().await.unwrap();
    assert!(
        pages
            .iter()
            .any(|index| index.keys == doc! { "source": -1 })
    );
}

#[tokio::test]
async fn a_changed_capacity_is_drift_and_writers_with_the_other_one_stay_exact() {
    let database = database().await;
    let events = Event::buckets(&database);
    events.ensure().await.unwrap();
    for second in 0..25 {
        events
            .insert(&event(1, 1_698_335_223 + second))
            .await
            .unwrap();
    }
    let wider = Wider::buckets(&database);
    let record = Wider {
        source: 1,
        at: DateTime::from_millis(1_700_000_000_000),
    };
    let error = wider.insert(&record).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Drift(_)), "{error:?}");
    // Two full buckets of ten count as open with a capacity of twenty.
    let error = wider.ensure().replace_indexes().await.unwrap_err();
    let ErrorKind::IndexBuild { name, .. } = error.kind() else {
        panic!("{error:?}")
    };
    assert_eq!(name, "bucket_open_20");
    assert_eq!(
        index_names(&database).await,
        ["_id_", "bucket_open_10", "bucket_pages"]
    );
    events.insert(&event(1, 1_700_000_000)).await.unwrap();
    let counts: Vec<i32> = documents(&database, "events")
        .await
        .iter()
        .map(|b| b.get_i32("count").unwrap())
        .collect();
    assert_eq!(counts, [10, 10, 6]);
}

/// A writer that has looked at the indexes meets the other one when it opens a bucket.
#[tokio::test]
async fn a_conflicting_index_of_a_larger_capacity_is_named() {
    let database = database().await;
    let (events, wider) = (Event::buckets(&database), Wider::buckets(&database));
    events.ensure().await.unwrap();
    events.insert(&event(2, 1_698_335_223)).await.unwrap();
    wider.ensure().replace_indexes().await.unwrap();
    let at = DateTime::from_millis(1_698_335_223_000);
    wider.load(vec![Wider { source: 1, at }; 15]).await;
    // `ensure` creates no second index on open buckets.
    let open = index::plan(&Event::SPEC)[0].definition();
    let create = doc! { "createIndexes": "events", "indexes": [open] };
    database.run_command(create).await.unwrap();
    let error = events.insert(&event(1, 1_700_000_000)).await.unwrap_err();
    let ErrorKind::OtherCapacity { index, .. } = error.kind() else {
        panic!("{error:?}")
    };
    assert_eq!(index, "bucket_open_20");
    assert!(!error.is_duplicate_key() && !error.is_outcome_unknown());
    let drop = doc! { "dropIndexes": "events", "index": "bucket_open_20" };
    database.run_command(drop).await.unwrap();
    events.insert(&event(1, 1_700_000_000)).await.unwrap();
    assert_eq!(events.page_count(1).await.unwrap(), 2);
}

async fn leave_behind(database: &Database) {
    let open = index::plan(&Wider::SPEC)[0].definition();
    let create = doc! { "createIndexes": "events", "indexes": [open] };
    database.run_command(create).await.unwrap();
}

/// The call of a larger capacity ended after it had created its index, and before it dropped it.
#[tokio::test]
async fn an_index_that_was_left_beside_that_of_a_smaller_capacity_goes_away() {
    let database = database().await;
    let events = Event::buckets(&database);
    events.ensure().await.unwrap();
    leave_behind(&database).await;
    let wider = Wider::buckets(&database);
    // Neither stores while both have an index.
    let at = DateTime::from_millis(1_698_335_223_000);
    let error = wider.insert(&Wider { source: 1, at }).await.unwrap_err();
    assert!(error.is_drift(), "{error:?}");
    let error = events.insert(&event(1, 1_698_335_223)).await.unwrap_err();
    assert!(error.is_drift(), "{error:?}");
    let report = wider.ensure().await.unwrap();
    assert_eq!(report.dropped_indexes, ["bucket_open_20"]);
    assert!(
        matches!(report.drift.as_slice(), [Drift::Capacity { name, .. }] if name == "bucket_open_10"),
        "{report}"
    );
    let batch = (0..25).map(|second| event(1, 1_698_335_223 + second));
    let report = events.insert_many(batch).await.unwrap();
    report.into_result().unwrap();
    // A call that replaces the smaller capacity is between creating and dropping.
    let database = bucket_tests::database().await;
    Event::buckets(&database).ensure().await.unwrap();
    leave_behind(&database).await;
    let wider = Wider::buckets(&database);
    let replace = async {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        let drop = doc! { "dropIndexes": "events", "index": "bucket_open_10" };
        database.run_command(drop).await.unwrap();
    };
    let (report, ()) = tokio::join!(wider.ensure().into_future(), replace);
    let report = report.unwrap();
    assert!(
        report.drift.is_empty() && report.dropped_indexes.is_empty(),
        "{report}"
    );
    assert_eq!(
        index_names(&database).await,
        ["_id_", "bucket_open_20", "bucket_pages"]
    );
}

#[tokio::test]
async fn an_index_of_another_capacity_is_drift_and_the_models_own_is_not_created_beside_it() {
    let database = database().await;
    let events = Event::buckets(&database);
    events.ensure().await.unwrap();
    let wider = Wider::buckets(&database);
    let report = wider.ensure().await.unwrap();
    assert_eq!(report.created_indexes, [] as [&str; 0]);
    let [capacity] = report.drift.as_slice() else {
        panic!("{report}")
    };
    let Drift::Capacity { name, expected, .. } = capacity else {
        panic!("{report}")
    };
    assert_eq!(
        (name.as_str(), expected.as_deref()),
        ("bucket_open_10", Some("bucket_open_20"))
    );
    let text = report.to_string();
    assert!(text.contains("drift: index `bucket_open_10` belongs to another capacity"));
    let record = Wider {
        source: 1,
        at: DateTime::from_millis(1_700_000_000_000),
    };
    let error = wider.insert(&record).await.unwrap_err();
    let ErrorKind::Drift(drift) = error.kind() else {
        panic!("{error:?}")
    };
    assert_eq!(**drift, *capacity);
    assert!(error.is_drift() && !error.needs_ensure());

    // As a process of the old version that starts again after the change.
    wider.ensure().replace_indexes().await.unwrap();
    wider.insert(&record).await.unwrap();
    let events = Event::buckets(&database);
    let report = events.ensure().await.unwrap();
    assert_eq!(report.created_indexes, [] as [&str; 0]);
    assert_eq!(
        index_names(&database).await,
        ["_id_", "bucket_open_20", "bucket_pages"]
    );
    let error = events.insert(&event(1, 1_700_000_000)).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Drift(_)), "{error:?}");
    wider.insert(&record).await.unwrap();
}

#[tokio::test]
async fn two_open_buckets_of_one_key_are_an_error_that_names_the_index() {
    let database = database().await;
    let bucket = |id: &str| doc! { "_id": id, "source": 1, "count": 1, "events": [{}] };
    let collection = database.collection::<Document>("events");
    collection
        .insert_many([bucket("1_1"), bucket("1_2")])
        .await
        .unwrap();
    let error = Event::buckets(&database).ensure().await.unwrap_err();
    let ErrorKind::IndexBuild { name, message, .. } = error.kind() else {
        panic!("{error:?}")
    };
    assert_eq!(name, "bucket_open_10");
    assert!(message.contains("source: 1"), "{message}");
    assert_eq!(documents(&database, "events").await.len(), 2);
}

/// A database whose commands of this name are counted.
async fn counted(name: &'static str) -> (TestDatabase, Client, Arc<AtomicUsize>) {
    let database = database().await;
    let sent: Arc<AtomicUsize> = Arc::default();
    let mut options = ClientOptions::parse(server().await.uri()).await.unwrap();
    options.command_event_handler = Some(EventHandler::callback({
        let sent = Arc::clone(&sent);
        move |event| match event {
            CommandEvent::Started(started) if started.command_name == name => {
                sent.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        }
    }));
    (database, Client::with_options(options).unwrap(), sent)
}

/// A definition of the user's has the keys of the model's index under another name.
async fn create_in_the_way(database: &Database) {
    let plan = &index::plan(&Event::SPEC)[0];
    let mut mine = plan.definition();
    mine.insert("name", "mine");
    let create = doc! { "createIndexes": "events", "indexes": [mine] };
    database.run_command(create).await.unwrap();
}

#[tokio::test]
async fn a_conflict_that_lasts_is_reported_after_three_more_attempts() {
    let (database, client, sent) = counted("createIndexes").await;
    create_in_the_way(&database).await;
    let events = Event::buckets(&client.database(database.name()));
    let error = events.ensure().await.unwrap_err();
    assert_eq!(error.code(), Some(85), "{error:?}");
    assert_eq!(sent.load(Ordering::Relaxed), 4);
}

#[tokio::test]
async fn a_conflict_that_goes_away_is_not_reported() {
    let (database, client, sent) = counted("createIndexes").await;
    create_in_the_way(&database).await;
    let events = Event::buckets(&client.database(database.name()));
    let collection = database.collection::<Document>("events");
    let repair = async {
        while sent.load(Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
        collection.drop_index("mine").await.unwrap();
    };
    let (report, ()) = tokio::join!(events.ensure().into_future(), repair);
    let report = report.unwrap();
    assert!(report.drift.is_empty(), "{report}");
}

#[tokio::test]
async fn a_collation_a_capped_collection_and_a_view_are_drift() {
    let database = database().await;
    let events = Event::buckets(&database);
    let create = doc! { "create": "events", "collation": { "locale": "en" } };
    database.run_command(create).await.unwrap();
    let report = events.ensure().await.unwrap();
    assert!(report.drift.contains(&Drift::__collation("en")), "{report}");

    let database = bucket_tests::database().await;
    let capped = doc! { "create": "events", "capped": true, "size": 4096 };
    database.run_command(capped).await.unwrap();
    let report = Event::buckets(&database).ensure().await.unwrap();
    assert_eq!(report.drift, [Drift::__kind("capped collection")]);

    let database = bucket_tests::database().await;
    let view = doc! { "create": "events", "viewOn": "other", "pipeline": [] };
    database.run_command(view).await.unwrap();
    let report = Event::buckets(&database).ensure().await.unwrap();
    assert_eq!(report.drift, [Drift::__kind("view")]);
    assert!(report.created_indexes.is_empty());
}

#[tokio::test]
async fn large_buckets_cause_a_warning_and_impossible_ones_are_refused() {
    let database = database().await;
    let wide = Wide::buckets(&database);
    let warning = wide.ensure().await.unwrap().size_warning.unwrap();
    assert_eq!(
        (warning.record_bytes, warning.bucket_bytes),
        (100, 2_000_500)
    );
    // The stored records give more information than the estimate.
    let item = doc! { "at": DateTime::now(), "text": "x".repeat(1_000) };
    let bucket = doc! { "_id": "1_1", "source": 1, "count": 1, "items": [item] };
    database
        .collection::<Document>("wide")
        .insert_one(bucket)
        .await
        .unwrap();
    let error = wide.ensure().await.unwrap_err();
    let ErrorKind::BucketTooLarge { bytes, limit, .. } = error.kind() else {
        panic!("{error:?}")
    };
    assert!(*bytes > *limit && *limit == 16 * 1024 * 1024);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "long", items = "items", capacity = 60_000)]
struct LongKey {
    #[bucket(key)]
    source: String,
    #[bucket(time)]
    at: DateTime,
}

#[tokio::test]
async fn what_a_bucket_has_besides_its_records_does_not_grow_with_them() {
    let database = database().await;
    let long = LongKey::buckets(&database);
    long.ensure().await.unwrap();
    let source = "x".repeat(200);
    let at = DateTime::now();
    long.insert(&LongKey { source, at }).await.unwrap();
    let warning = long.ensure().await.unwrap().size_warning.unwrap();
    assert!(warning.record_bytes < 30, "{warning:?}");
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "packed",
    items = "items",
    window = "1h",
    compression = "zstd"
)]
struct Packed {
    #[bucket(key)]
    source: i32,
    #[bucket(time)]
    at: DateTime,
}

#[tokio::test]
async fn a_new_collection_and_its_indexes_have_the_models_compressor_and_an_old_one_is_reported() {
    let database = database().await;
    let packed = Packed::buckets(&database);
    packed.ensure().await.unwrap();
    let stats = database.run_command(doc! { "collStats": "packed", "indexDetails": true });
    let stats = stats.await.unwrap();
    let indexes = stats.get_document("indexDetails").unwrap();
    let files = indexes.values().map(|index| index.as_document().unwrap());
    let files: Vec<&Document> = files.chain(stats.get_document("wiredTiger")).collect();
    assert_eq!(files.len(), 5);
    for file in files {
        let created = file.get_str("creationString").unwrap();
        assert!(created.contains("block_compressor=zstd"), "{created}");
    }
    assert_eq!(packed.ensure().await.unwrap().drift, []);

    database
        .collection::<Document>("packed")
        .drop()
        .await
        .unwrap();
    database.create_collection("packed").await.unwrap();
    let report = packed.ensure().await.unwrap();
    let drift = Drift::__compression("zstd", String::new());
    assert_eq!(report.drift, [drift]);
    assert!(
        report.to_string().contains("without storage options"),
        "{report}"
    );
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "events",
    items = "events",
    capacity = 10,
    expire_after = "1h"
)]
struct Brief {
    #[bucket(key)]
    source: i32,
    #[bucket(time)]
    at: DateTime,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "events",
    items = "events",
    capacity = 10,
    expire_after = "2h"
)]
struct Longer {
    #[bucket(key)]
    source: i32,
    #[bucket(time)]
    at: DateTime,
}

#[tokio::test(flavor = "multi_thread")]
async fn models_of_different_limits_may_change_the_limit_at_once() {
    let database = database().await;
    let (brief, longer) = (Brief::buckets(&database), Longer::buckets(&database));
    let without = Event::buckets(&database);
    for _ in 0..20 {
        database
            .collection::<Document>("events")
            .drop()
            .await
            .unwrap();
        let runs = (0..4).map(|_| async {
            let (first, second, third) = tokio::join!(
                brief.ensure().change_expiry(),
                longer.ensure().change_expiry(),
                without.ensure().change_expiry(),
            );
            [first, second, third].map(|report| report.unwrap())
        });
        join_all(runs).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collection_that_another_client_drops_meanwhile_is_set_up_again() {
    let database = database().await;
    let brief = Brief::buckets(&database);
    let events = database.collection::<Document>("events");
    for round in 0..60_u64 {
        let drops = async {
            for _ in 0..2 {
                tokio::time::sleep(std::time::Duration::from_millis(round % 20)).await;
                events.drop().await.unwrap();
            }
        };
        let runs = (0..3).map(|_| async { brief.ensure().await.unwrap() });
        tokio::join!(drops, join_all(runs));
        let names = brief.ensure().await.map(|_| index_names(&database));
        assert_eq!(
            names.unwrap().await,
            ["_id_", "bucket_expire", "bucket_open_10", "bucket_pages"]
        );
    }
}
