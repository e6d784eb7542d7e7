//! Other data under an id that is stored, or that is in the same batch.

use std::collections::HashMap;

use bucket_mongo::{Bucketed, ErrorKind, RecordOutcome, bson::DateTime};
use bucket_tests::{database, documents};
use serde::{Deserialize, Serialize};

use super::models::{Counted, Numbered, Order, deliver, stored};

#[tokio::test]
async fn other_data_under_a_stored_id_is_a_conflict_and_changes_nothing() {
    let database = database().await;
    let buckets = Numbered::buckets(&database);
    buckets.ensure().await.unwrap();
    deliver(&buckets, 0..30).await;
    let before = documents(&database, "orders").await;
    let error = buckets.insert(&Numbered::of(7, 8)).await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Conflict { id, .. } if id == "7"),
        "{error:?}"
    );
    assert!(error.is_conflict() && !error.is_retryable() && !error.is_outcome_unknown());
    let records = [
        Numbered::of(7, 7),
        Numbered::of(7, 8),
        Numbered::of(8, 8),
        Numbered::of(9, 0),
    ];
    let report = buckets.insert_many(&records).await.unwrap();
    let outcomes: Vec<_> = (0..5).map(|index| report.outcome(index)).collect();
    let (duplicate, conflict) = (RecordOutcome::Duplicate, RecordOutcome::Conflict);
    assert_eq!(
        outcomes,
        [
            duplicate,
            conflict,
            duplicate,
            conflict,
            RecordOutcome::NotTried
        ]
    );
    assert!(report.is_stored(0) && !report.is_stored(1));
    assert!(report.into_result().unwrap_err().is_conflict());
    assert_eq!(documents(&database, "orders").await, before);
}

#[tokio::test]
async fn an_id_that_comes_twice_in_a_batch_is_stored_once() {
    use RecordOutcome::{Conflict, Duplicate, Stored};

    let database = database().await;
    let buckets = Counted::buckets(&database);
    buckets.ensure().await.unwrap();
    let of = Counted::of;
    let records = [of(1, 1), of(4, 4), of(1, 1), of(4, 5), of(4, 4), of(7, 7)];
    let report = buckets.insert_many(&records).await.unwrap();
    let outcomes: Vec<_> = (0..6).map(|index| report.outcome(index)).collect();
    assert_eq!(
        outcomes,
        [Stored, Stored, Duplicate, Conflict, Duplicate, Stored]
    );
    assert_eq!(
        (report.stored(), report.duplicates()),
        (3, [2, 4].as_slice())
    );
    assert_eq!(stored(&database).await, [(1, 1), (4, 4), (7, 7)]);
    // The stored record decides, not the order.
    let report = buckets
        .insert_many(&[of(1, 2), of(1, 1), of(1, 2)])
        .await
        .unwrap();
    let outcomes: Vec<_> = (0..3).map(|index| report.outcome(index)).collect();
    assert_eq!(outcomes, [Conflict, Duplicate, Conflict]);
    assert_eq!(stored(&database).await, [(1, 1), (4, 4), (7, 7)]);
}

macro_rules! with_a_map_of_attributes {
    ($($name:ident $collection:literal $store:literal)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = $collection, items = "items", capacity = 10)]
        #[bucket(attributes(array = "specs", store = $store))]
        struct $name {
            #[bucket(key)]
            line: i64,
            #[bucket(time)]
            at: DateTime,
            #[bucket(unique)]
            id: i64,
            #[bucket(attribute(array = "specs", rest))]
            specs: HashMap<String, i32>,
        }

        impl $name {
            /// Equal records, whose maps may have other orders.
            fn of(id: i64) -> Self {
                let specs = (0..8).map(|at| (format!("spec {at}"), at)).collect();
                let at = DateTime::from_millis(1_700_000_000_000);
                Self { line: 1, at, id, specs }
            }
        }
    )*};
}

with_a_map_of_attributes! {
    InItems "parts_in_items" "item"
    InBuckets "parts_in_buckets" "bucket"
}

#[tokio::test]
async fn attributes_from_an_unordered_map_are_no_conflict_when_their_record_is_sent_again() {
    macro_rules! check {
        ($($name:ident)*) => {$(
            let own = database().await;
            let buckets = $name::buckets(&own);
            buckets.ensure().await.unwrap();
            for id in 0..10 {
                buckets.insert(&$name::of(id)).await.unwrap();
                let again = buckets.insert(&$name::of(id)).await.unwrap();
                assert_eq!(again.outcome, RecordOutcome::Duplicate);
            }
            let both = [$name::of(20), $name::of(20), $name::of(3)];
            let report = buckets.insert_many(&both).await.unwrap();
            assert_eq!((report.stored(), report.duplicates()), (1, &[1, 2][..]), "{report:?}");
        )*};
    }
    check!(InItems InBuckets);
}
