//! `repair` creates the indexes of the model that are missing, and drops or replaces none.

use std::collections::BTreeSet;

use bucket_mongo::{
    bson::{Document, doc},
    testing::{DevServer, TestDatabase},
};
use bucket_tests::{database, documents};

use super::verify::{
    Aging, AgingNumbers, AgingWindows, Counted, Event, Hybrid, Numbered, Windowed, WindowedObjects,
    buckets_of, replaced, set, stored,
};

macro_rules! forms {
    ($($test:ident $name:ident,)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            missing_indexes_are_created::<$name>().await;
        }
    )*};
}

forms! {
    missing_indexes_of_counted_buckets Counted,
    missing_indexes_of_aging_buckets Aging,
    missing_indexes_of_windows Windowed,
    missing_indexes_of_aging_windows AgingWindows,
    missing_indexes_of_windows_with_object_ids WindowedObjects,
    missing_indexes_of_hybrid_buckets Hybrid,
    missing_indexes_of_numbered_buckets Numbered,
    missing_indexes_of_aging_numbers AgingNumbers,
}

async fn index_names(database: &TestDatabase) -> BTreeSet<String> {
    let collection = database.collection::<Document>("events");
    let names = collection.list_index_names().await.unwrap();
    names.into_iter().filter(|name| name != "_id_").collect()
}

async fn missing_indexes_are_created<T: Event>() {
    let database = database().await;
    let events = stored::<T>(&database).await;
    let collection = database.collection::<Document>("events");
    let all = index_names(&database).await;
    // The walk of a check needs its own.
    let pages = T::SPEC.pages_index_name();
    let mut lost = Vec::new();
    for name in &all {
        lost.push(BTreeSet::from([name.clone()]));
    }
    lost.push(all.iter().filter(|name| **name != pages).cloned().collect());
    let before = documents(&database, "events").await;
    for lost in lost {
        for name in &lost {
            collection.drop_index(name.clone()).await.unwrap();
        }
        let left = index_names(&database).await;
        let report = match events.verify().await {
            Ok(report) => report,
            Err(error) => {
                assert!(lost.contains(&pages), "{error}");
                bucket_mongo::VerifyReport::default()
            }
        };
        assert!(report.found.is_empty(), "{report}");
        // An index by which the server removes buckets is nothing to create by the way.
        let (kept_out, expected): (BTreeSet<String>, BTreeSet<String>) = lost
            .into_iter()
            .partition(|name| name.starts_with("bucket_expire"));
        let dry = events.repair(&report).dry_run().await.unwrap();
        assert_eq!(index_names(&database).await, left);
        let created = dry.created_indexes.iter().cloned().collect();
        assert_eq!(expected, created, "{dry}");
        let done = events.repair(&report).await.unwrap();
        assert_eq!(done.created_indexes, dry.created_indexes, "{done}");
        assert_eq!(done.indexes, dry.indexes, "{done}");
        assert_eq!(done.indexes.is_empty(), kept_out.is_empty(), "{done}");
        let now = index_names(&database).await;
        assert_eq!(
            all.difference(&now).cloned().collect::<BTreeSet<_>>(),
            kept_out
        );
        events.ensure().change_expiry().await.unwrap();
        let report = events.verify().await.unwrap();
        assert!(report.is_clean(), "{report}");
        let again = events.repair(&report).await.unwrap();
        assert!(
            again.created_indexes.is_empty() && again.indexes.is_empty(),
            "{again}"
        );
    }
    assert_eq!(documents(&database, "events").await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_is_built_after_what_was_in_its_way_has_moved() {
    let database = database().await;
    let events = stored::<Counted>(&database).await;
    let collection = database.collection::<Document>("events");
    collection.drop_index("bucket_unique").await.unwrap();
    let bucket = &buckets_of(&database, "a").await[1];
    let damaged = set(bucket, "items.0.name", "a 1".into()).unwrap();
    assert!(replaced(&database, bucket.get("_id").unwrap(), &damaged).await);
    // Without the finding, the index cannot be built, and the report says why.
    let found = events.verify().keep(0).await.unwrap();
    assert_eq!(found.total(), 1, "{found}");
    let report = events.repair(&found).await.unwrap();
    assert!(report.created_indexes.is_empty(), "{report}");
    assert_eq!((report.not_kept, report.indexes.len()), (1, 2), "{report}");
    assert!(report.indexes[1].contains("bucket_unique"), "{report}");
    let report = events.repair(&found).verify_again().await.unwrap();
    assert_eq!(report.created_indexes, ["bucket_unique"], "{report}");
    assert_eq!(
        (report.quarantined, report.indexes.len()),
        (1, 0),
        "{report}"
    );
    let left = events.verify().await.unwrap();
    assert!(left.is_clean(), "{left}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_with_another_definition_stays() {
    let database = database().await;
    let events = stored::<Windowed>(&database).await;
    let collection = database.collection::<Document>("events");
    collection.drop_index("bucket_unique").await.unwrap();
    let index =
        doc! { "key": { "device": 1, "sensor": 1, "items.name": 1 }, "name": "bucket_unique" };
    let create = doc! { "createIndexes": "events", "indexes": [index] };
    database.run_command(create).await.unwrap();
    let before = index_names(&database).await;
    let found = events.verify().await.unwrap();
    let report = events.repair(&found).await.unwrap();
    assert!(report.created_indexes.is_empty(), "{report}");
    assert_eq!(report.indexes, found.indexes);
    assert_eq!(index_names(&database).await, before);
    assert!(!events.verify().await.unwrap().is_clean());
}

/// The buckets are mended by then, and what a second repair finds says nothing of that.
#[tokio::test(flavor = "multi_thread")]
async fn a_fault_that_passes_does_not_cost_the_report() {
    let parameters = ["--setParameter", "enableTestCommands=1"];
    let server = DevServer::builder().own().arguments(parameters);
    let server = server.await.unwrap();
    let database = server.database("faults").await.unwrap();
    let events = stored::<Counted>(&database).await;
    let bucket = buckets_of(&database, "full").await[1].clone();
    let id = bucket.get("_id").unwrap();
    let damaged = set(&bucket, "count", 9.into()).unwrap();
    assert!(replaced(&database, id, &damaged).await);
    let found = events.verify().await.unwrap();
    let fail = doc! {
        "configureFailPoint": "failCommand", "mode": { "times": 1 },
        "data": { "failCommands": ["listIndexes"], "errorCode": 91 },
    };
    let admin = database.client().database("admin");
    admin.run_command(fail).await.unwrap();
    let report = events.repair(&found).await.unwrap();
    assert_eq!((report.mended, report.left), (1, 0), "{report}");
    assert!(events.verify().await.unwrap().is_clean());
}
