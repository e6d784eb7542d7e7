//! The index on the ids: the error of a write without it, and what a write with it examines.

use bucket_core::{index::Drift, write::Batch};
use bucket_mongo::{
    Bucketed, ErrorKind,
    bson::{DateTime, Document, doc},
};
use bucket_tests::{database, documents};
use serde::{Deserialize, Serialize};

use super::models::{Counted, Order};
use crate::common::explained::{explain, find};

#[tokio::test]
async fn without_the_index_nothing_is_stored() {
    let database = database().await;
    let buckets = Counted::buckets(&database);
    let ensured = buckets.ensure().await.unwrap();
    assert_eq!(
        ensured.created_indexes,
        ["bucket_open_10", "bucket_pages", "bucket_unique"]
    );
    let drop = doc! { "dropIndexes": "orders", "index": "bucket_unique" };
    database.run_command(drop).await.unwrap();
    let error = buckets.insert(&Counted::of(1, 1)).await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::MissingIndex { name, .. } if name == "bucket_unique"),
        "{error:?}"
    );
    assert!(documents(&database, "orders").await.is_empty());
    assert_eq!(
        buckets.ensure().await.unwrap().created_indexes,
        ["bucket_unique"]
    );
    buckets.insert(&Counted::of(1, 1)).await.unwrap();
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "orders", items = "items", capacity = 10)]
struct WithoutIds {
    #[bucket(key)]
    customer: i64,
    #[bucket(time)]
    at: DateTime,
}

#[tokio::test]
async fn an_index_on_record_ids_that_the_model_does_not_have_is_drift() {
    let database = database().await;
    Counted::buckets(&database).ensure().await.unwrap();
    let report = WithoutIds::buckets(&database).ensure().await.unwrap();
    let [Drift::RecordIds { name, .. }] = report.drift.as_slice() else {
        panic!("{:?}", report.drift)
    };
    assert_eq!(name, "bucket_unique");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_1_000_buckets_a_write_examines_two_keys_and_a_lookup_a_few_for_each_id() {
    let database = database().await;
    let buckets = Counted::buckets(&database);
    buckets.ensure().await.unwrap();
    let of = |id| Counted {
        customer: 1,
        ..Counted::of(id, id)
    };
    let records: Vec<Counted> = (0..10_005).map(of).collect();
    buckets
        .insert_many(&records)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let newest = documents(&database, "orders").await.pop().unwrap();
    let id = newest.get_str("_id").unwrap().to_owned();

    let mut batch = Batch::of::<Counted>();
    batch.push(0, &of(20_000)).unwrap();
    batch.guess(|_| Some(id.clone()));
    for round in batch.rounds(None) {
        let command = Document::try_from(round.command().body().to_owned()).unwrap();
        let update = command.get_array("updates").unwrap()[0]
            .as_document()
            .unwrap();
        let guard = update
            .get_document("q")
            .unwrap()
            .get_document("items.orderId");
        assert_eq!(guard.unwrap(), &doc! { "$ne": 20_000_i64 });
        let explained = explain(&database, command).await;
        assert!(
            explained.keys <= 2 && explained.documents <= 2,
            "{}",
            explained.plan
        );
    }
    for ids in [1, 10, 20] {
        let mut batch = Batch::of::<Counted>();
        for (index, record) in records.iter().skip(5_000).take(ids).enumerate() {
            batch.push(index, record).unwrap();
        }
        batch.look_first();
        let explained = explain(&database, find("orders", batch.repeats(0).remove(0))).await;
        assert!(
            explained.plan.contains("bucket_unique"),
            "{}",
            explained.plan
        );
        let most = 2 * i64::try_from(ids).unwrap() + 1;
        assert!(
            explained.keys <= most,
            "{} keys for {ids} ids",
            explained.keys
        );
        assert!(
            explained.documents <= most,
            "{} for {ids} ids",
            explained.documents
        );
    }
}
