//! Of two models with other key fields that set up one new collection at the same moment, one gets it.

use std::{fmt::Debug, time::Duration};

use bucket_core::{BucketSpec, index::Drift, schema::Validation};
use bucket_mongo::{
    Bucketed, ErrorKind,
    action::EnsureReport,
    mongodb::bson::{DateTime, Document, doc},
    testing::TestDatabase,
};
use bucket_tests::{database, documents};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use crate::common::reading::{Counted, Hybrid, Numbered, Objects, Parts};

const ROUNDS: u64 = 12;

/// Readings with another key field. Its name is before `bucket` and `sensor` in the alphabet, or after them.
macro_rules! other_keys {
    ($($name:ident $key:ident: [$($attributes:tt)*])*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "readings", items = "items", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            $key: String,
            #[bucket(time)]
            at: DateTime,
            number: i64,
        }

        impl $name {
            fn of(key: &str, number: i64) -> Self {
                let at = DateTime::from_millis(1_700_000_000_000 + number);
                Self { $key: key.to_owned(), at, number }
            }
        }
    )*};
}

other_keys! {
    CountedAreas area: [capacity = 4]
    SmallAreas area: [capacity = 3]
    AreaParts area: [window = "1h", capacity = 4]
    UnitParts unit: [window = "1h", capacity = 4]
    AreaObjects area: [window = "1h", capacity = 4, object_ids]
    UnitObjects unit: [window = "1h", capacity = 4, object_ids]
    IdObjects sensor_id: [window = "1h", capacity = 4, object_ids]
    HybridAreas area: [capacity = 4, max_duration = "1h"]
    HybridIds sensor_id: [capacity = 4, max_duration = "1h"]
    NumberedAreas area: [capacity = 4, numbered]
    AreaNumbers area: [capacity = 4, numbered, object_ids]
}

async fn indexes(database: &TestDatabase) -> Vec<String> {
    let collection = database.collection::<Document>("readings");
    let mut names = collection.list_index_names().await.unwrap();
    names.sort();
    names
}

async fn listed(database: &TestDatabase) -> Document {
    let listed = doc! { "listCollections": 1, "filter": { "name": "readings" } };
    let mut listed = database.run_cursor_command(listed).await.unwrap();
    listed.try_next().await.unwrap().unwrap()
}

fn is_other(drift: &Drift) -> bool {
    matches!(drift, Drift::OtherModel { .. })
}

/// What a service told that set the collection up and stored records at once.
struct Told {
    spec: &'static BucketSpec,
    report: EnsureReport,
    stored: Vec<bool>,
}

/// A service that starts: it sets the collection up, and stores records by the same handle and by another one.
async fn starts<T: Bucketed + Debug>(
    database: &TestDatabase,
    of: fn(&str, i64) -> T,
    millis: u64,
) -> Told {
    sleep(Duration::from_millis(millis)).await;
    let buckets = T::buckets(database);
    let report = buckets.ensure().validator().await.unwrap();
    let mut stored = Vec::new();
    for buckets in [buckets, T::buckets(database)] {
        // More than one key: their buckets have the same entry in an index on fields that they lack.
        for key in ["a", "b"] {
            stored.push(match buckets.insert(&of(key, 1)).await {
                Ok(_) => true,
                Err(error) => {
                    let is_other =
                        matches!(error.kind(), ErrorKind::Drift(drift) if is_other(drift));
                    let is_blocked = error.is_drift() || error.needs_ensure();
                    // Even of the one that keeps the collection, while the other one is at work.
                    assert!(
                        is_other || report.drift.is_empty() && is_blocked,
                        "{error:?}"
                    );
                    false
                }
            });
        }
    }
    Told {
        spec: T::SPEC,
        report,
        stored,
    }
}

/// Whether each of two models gets the collection in some round.
async fn race<T, U>(first: fn(&str, i64) -> T, second: fn(&str, i64) -> U)
where
    T: Bucketed + Debug,
    U: Bucketed + Debug,
{
    let database = database().await;
    for round in 0..ROUNDS {
        let what = format!("{:?}, {:?}, round {round}", T::SPEC.form(), U::SPEC.form());
        let collection = database.collection::<Document>("readings");
        collection.drop().await.unwrap();
        // Where the collection is there, the calls run side by side from the first index on.
        if round % 2 == 0 {
            database.create_collection("readings").await.unwrap();
        }
        let pause = |turn: u64| (round * 7 + turn * 3) % 5 * round / 3;
        let told = tokio::join!(
            starts(&database, first, pause(0)),
            starts(&database, second, pause(1)),
        );
        let told = [told.0, told.1];
        let owners = told.iter().filter(|it| it.report.drift.is_empty());
        let [owner] = owners.collect::<Vec<_>>()[..] else {
            let reports: Vec<_> = told.iter().map(|it| it.report.to_string()).collect();
            panic!("{what}: {reports:#?}, {:?}", indexes(&database).await)
        };
        for other in told.iter().filter(|it| !std::ptr::eq(*it, owner)) {
            let report = &other.report;
            assert!(report.drift.iter().any(is_other), "{what}: {report}");
            assert!(report.created_indexes.is_empty(), "{what}: {report}");
            assert_eq!(other.stored, [false; 4], "{what}: {report}");
        }
        let mut own: Vec<String> = bucket_core::index::plan(owner.spec)
            .into_iter()
            .map(|plan| plan.name)
            .collect();
        own.push("_id_".to_owned());
        own.sort();
        assert_eq!(indexes(&database).await, own, "{what}");
        let validation = Validation::of_listed(owner.spec, &listed(&database).await);
        assert!(
            matches!(validation, Validation::Same),
            "{what}: {validation:?}"
        );
        let key = owner.spec.keys()[0].path;
        for bucket in documents(&database, "readings").await {
            assert!(bucket.contains_key(key), "{what}: {bucket}");
        }
        // Now that all are done, only the one that keeps it can store.
        let can = [
            T::buckets(&database).insert(&first("c", 2)).await.is_ok(),
            U::buckets(&database).insert(&second("c", 2)).await.is_ok(),
        ];
        let keeps = [&told[0], &told[1]].map(|it| std::ptr::eq(it, owner));
        assert_eq!(can, keeps, "{what}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn windows_with_object_ids_and_other_keys_at_once_leave_one_model() {
    race(Objects::of, AreaObjects::of).await;
    race(Objects::of, UnitObjects::of).await;
    race(Objects::of, IdObjects::of).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn windows_with_other_keys_at_once_leave_one_model() {
    race(Parts::of, AreaParts::of).await;
    race(Parts::of, UnitParts::of).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn windows_with_and_without_object_ids_at_once_leave_one_model() {
    race(Parts::of, Objects::of).await;
    race(Parts::of, AreaObjects::of).await;
    race(Parts::of, UnitObjects::of).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_manuals_buckets_with_other_keys_at_once_leave_one_model() {
    race(Counted::of, CountedAreas::of).await;
    race(Counted::of, SmallAreas::of).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hybrid_buckets_with_other_keys_at_once_leave_one_model() {
    race(Hybrid::of, HybridAreas::of).await;
    race(Hybrid::of, HybridIds::of).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn numbered_buckets_with_other_keys_at_once_leave_one_model() {
    race(Numbered::of, NumberedAreas::of).await;
    race(Numbered::of, AreaNumbers::of).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn windows_and_other_forms_with_other_keys_at_once_leave_one_model() {
    race(AreaObjects::of, Counted::of).await;
    race(UnitParts::of, Hybrid::of).await;
    race(AreaObjects::of, Numbered::of).await;
}
