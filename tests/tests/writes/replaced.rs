//! What takes the collection's place under a living handle gets no record, and the error says what it is: a view, a
//! time series, capped or clustered collection.

use crate::common::reading::{Counted, Hybrid, Numbered, Objects, Parts, Unique, Windowed};
use bucket_core::index::{self, Drift};
use bucket_mongo::{
    Bucketed, Buckets, Error, ErrorKind,
    mongodb::bson::{Document, doc},
    testing::TestDatabase,
};
use bucket_tests::{database, documents, is_from};

/// What can have the name, and what `Drift` calls it.
async fn kinds() -> Vec<(Document, &'static str)> {
    let view = doc! { "viewOn": "others", "pipeline": [] };
    let english = doc! { "locale": "en", "strength": 2 };
    let collated = doc! { "viewOn": "none", "pipeline": [], "collation": english };
    let time_series = doc! { "timeseries": { "timeField": "at" } };
    let of_keys = doc! { "timeseries": { "timeField": "at", "metaField": "sensor" } };
    let capped = doc! { "capped": true, "size": 1_048_576 };
    let mut kinds = vec![
        (view, "view"),
        (collated, "view"),
        (time_series, "timeseries"),
        (of_keys, "timeseries"),
        (capped, "capped collection"),
    ];
    if is_from(6).await {
        let clustered = doc! { "key": { "_id": 1 }, "unique": true };
        kinds.push((doc! { "clusteredIndex": clustered }, "clustered collection"));
    }
    kinds
}

/// Puts it in the place of the collection, whose buckets stay under another name.
async fn replace<T: Bucketed>(database: &TestDatabase, options: &Document) {
    let admin = database.client().database("admin");
    let of = |name: &str| format!("{}.{name}", database.name());
    let rename = doc! { "renameCollection": of("readings"), "to": of("others") };
    admin.run_command(rename).await.unwrap();
    let mut create = doc! { "create": "readings" };
    create.extend(options.clone());
    database.run_command(create).await.unwrap();
    if options.contains_key("capped") || options.contains_key("clusteredIndex") {
        let plans = index::plan(T::SPEC);
        let indexes = plans.iter().map(index::IndexPlan::definition);
        let indexes: Vec<Document> = indexes.collect();
        let create = doc! { "createIndexes": "readings", "indexes": indexes };
        database.run_command(create).await.unwrap();
    }
}

async fn put_back(database: &TestDatabase) {
    let readings = database.collection::<Document>("readings");
    readings.drop().await.unwrap();
    let admin = database.client().database("admin");
    let of = |name: &str| format!("{}.{name}", database.name());
    let rename = doc! { "renameCollection": of("others"), "to": of("readings") };
    admin.run_command(rename).await.unwrap();
}

fn is_kind(error: &Error, kind: &str) -> bool {
    assert!(!error.is_outcome_unknown() && !error.is_retryable());
    let is = |drift: &Drift| matches!(drift, Drift::Kind { found, .. } if found == kind);
    matches!(error.kind(), ErrorKind::Drift(drift) if is(drift))
}

async fn check_kind<T: Bucketed>(of: fn(&str, i64) -> T, options: &Document, kind: &str) {
    let database = database().await;
    let buckets = T::buckets(&database);
    buckets.ensure().await.unwrap();
    let many = |key: &'static str, from: i64, count: i64| {
        (from..from + count).map(move |number| of(key, number))
    };
    assert_eq!(
        buckets
            .insert_many(many("a", 0, 30))
            .await
            .unwrap()
            .stored(),
        30
    );
    let ingestor = buckets.ingestor().start().unwrap();
    ingestor.push(&of("b", 0)).await.unwrap();
    let _ = ingestor.flush().await;

    let handles: [Buckets<T>; 2] = [buckets.clone(), buckets];
    for (round, buckets) in handles.into_iter().enumerate() {
        replace::<T>(&database, options).await;
        let what = format!("{kind} {options}, {round}");
        if round == 0 {
            // The single record first, whose bucket is remembered.
            let error = buckets.insert(&of("a", 100)).await.unwrap_err();
            assert!(is_kind(&error, kind), "{what}: {error:?}");
        }
        let receipt = ingestor.push(&of("b", 1)).await.unwrap();
        let _ = ingestor.flush().await;
        let error = receipt.await.unwrap_err();
        assert!(is_kind(&error, kind), "{what}: {error:?}");
        for (key, count) in [("a", 30), ("b", 1), ("c", 300)] {
            let report = buckets.insert_many(many(key, 200, count)).await.unwrap();
            assert_eq!(report.stored(), 0, "{what}");
            let first = &report.failed()[0].error;
            assert!(is_kind(first, kind), "{what}: {first:?}");
        }
        let error = buckets.insert(&of("a", 100)).await.unwrap_err();
        assert!(is_kind(&error, kind), "{what}: {error:?}");
        let mut session = database.client().start_session().await.unwrap();
        session.start_transaction().await.unwrap();
        let record = of("a", 100);
        let error = buckets.insert(&record).session(&mut session).await;
        assert!(is_kind(&error.unwrap_err(), kind), "{what}");
        let _ = session.abort_transaction().await;
        if kind != "view" {
            assert!(documents(&database, "readings").await.is_empty(), "{what}");
        }
        put_back(&database).await;
        // And nothing is wrong once the collection is there again.
        let from = 1_000 * i64::try_from(round + 1).unwrap();
        let report = buckets.insert_many(many("a", from, 30)).await.unwrap();
        assert_eq!(report.stored(), 30, "{what}: {:?}", report.failed());
        buckets.insert(&of("a", from + 100)).await.unwrap();
    }
    let _ = ingestor.shutdown().await;
}

macro_rules! check {
    ($($test:ident: $model:ident)*) => {$(
        #[tokio::test]
        async fn $test() {
            for (options, kind) in kinds().await {
                check_kind($model::of, &options, kind).await;
            }
        }
    )*};
}

check! {
    what_takes_the_place_of_pages_under_a_living_handle_is_named: Counted
    what_takes_the_place_of_windows_under_a_living_handle_is_named: Windowed
    what_takes_the_place_of_windows_in_parts_under_a_living_handle_is_named: Parts
    what_takes_the_place_of_windows_with_object_ids_under_a_living_handle_is_named: Objects
    what_takes_the_place_of_hybrid_buckets_under_a_living_handle_is_named: Hybrid
    what_takes_the_place_of_numbered_buckets_under_a_living_handle_is_named: Numbered
    what_takes_the_place_of_records_with_ids_under_a_living_handle_is_named: Unique
}
