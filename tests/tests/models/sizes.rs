//! How much space a collection takes, by the server's statistics.

use std::{collections::BTreeSet, time::Duration};

use bucket_core::index;
use bucket_mongo::{
    Bucketed, ErrorKind, Sizes,
    bson::{DateTime, Document, doc},
    mongodb::options::{DatabaseOptions, ReadConcern, ReadPreference, SelectionCriteria},
};
use bucket_tests::{database, documents, profiled, server};

use crate::common::{
    draw::Draw,
    filled::filled,
    sample::{self, Sample},
};

type Counted = Sample<{ sample::COUNT_EXPIRE }>;

fn records() -> Vec<Counted> {
    let now = DateTime::now().timestamp_millis();
    let samples = Draw::new(6).samples(0, 200).into_iter();
    samples
        .map(|one| Counted {
            at: DateTime::from_millis(now - one.unique),
            ..one
        })
        .collect()
}

#[tokio::test]
async fn documents_and_bytes_are_those_that_are_stored_and_every_index_has_its_size() {
    let (database, buckets) = filled(&records()).await;
    let stored = documents(&database, "samples").await;
    let data: usize = stored.iter().map(|one| one.to_vec().unwrap().len()).sum();
    let sizes = buckets.sizes().await.unwrap();
    assert_eq!(sizes.documents, stored.len() as u64);
    assert_eq!(sizes.data, data as u64);
    assert_eq!(sizes.mean_document(), Some((data / stored.len()) as u64));
    let names: BTreeSet<&str> = sizes.indexes.keys().map(String::as_str).collect();
    let plans = index::plan(buckets.spec());
    let expected = plans.iter().map(|plan| plan.name.as_str()).chain(["_id_"]);
    assert_eq!(names, expected.collect());
    assert!(sizes.indexes.values().all(|size| *size > 0), "{sizes}");
    assert!(sizes.storage > 0 && sizes.storage >= sizes.free);
    assert_eq!(sizes.total(), sizes.storage + sizes.index_total());
    // As the server's own command says.
    let stats = database
        .run_command(doc! { "collStats": "samples" })
        .await
        .unwrap();
    let total = bucket_core::whole::field(&stats, "totalIndexSize").unwrap();
    assert_eq!(sizes.index_total(), total.unsigned_abs());
    let fill = buckets.fill().await.unwrap();
    assert_eq!(fill.bytes, sizes.data);
    assert_eq!((fill.records, fill.buckets), (200, sizes.documents));
}

#[tokio::test]
async fn a_collection_that_does_not_exist_takes_no_space_and_an_empty_one_only_its_indexes() {
    let database = database().await;
    let buckets = Counted::buckets(&database);
    assert_eq!(buckets.sizes().await.unwrap(), Sizes::default());
    // A database that exists without the collection.
    database
        .collection("other")
        .insert_one(doc! { "_id": 1 })
        .await
        .unwrap();
    assert_eq!(buckets.sizes().await.unwrap(), Sizes::default());
    buckets.ensure().await.unwrap();
    let sizes = buckets.sizes().await.unwrap();
    assert_eq!(
        (sizes.documents, sizes.data, sizes.mean_document()),
        (0, 0, None)
    );
    assert_eq!(sizes.indexes.len(), 1 + index::plan(buckets.spec()).len());
    // A handle that has looked at the collection, which is dropped afterwards.
    buckets.collection::<Document>().drop().await.unwrap();
    assert_eq!(buckets.sizes().await.unwrap(), Sizes::default());
}

#[tokio::test]
async fn no_bucket_is_read() {
    let (database, buckets) = filled(&records()).await;
    let (sizes, profile) = profiled(&database, "samples", buckets.sizes().into_future()).await;
    sizes.unwrap();
    for one in &profile {
        let examined = one.get("docsExamined").and_then(bucket_core::whole::of);
        assert_eq!(examined.unwrap_or(0), 0, "{one}");
    }
}

#[tokio::test]
async fn every_read_concern_gives_the_sizes_of_now_and_settings_are_followed() {
    let (database, buckets) = filled(&records()).await;
    let expected = buckets.sizes().await.unwrap().documents;
    for concern in [ReadConcern::majority(), ReadConcern::snapshot()] {
        let options = DatabaseOptions::builder().read_concern(concern).build();
        let client = server().await.client().await.unwrap();
        let other = client.database_with_options(database.name(), options);
        let other = Counted::buckets(&other);
        assert_eq!(other.sizes().await.unwrap().documents, expected);
        let mut session = client.start_session().await.unwrap();
        let in_session = other.sizes().session(&mut session).await.unwrap();
        assert_eq!(in_session.documents, expected);
    }
    let primary = SelectionCriteria::ReadPreference(ReadPreference::Primary);
    let sizes = buckets
        .sizes()
        .read_preference(primary)
        .max_time(Duration::from_secs(20));
    assert_eq!(sizes.await.unwrap().documents, expected);
    let late = buckets.sizes().deadline(Duration::ZERO).await.unwrap_err();
    assert!(matches!(late.kind(), ErrorKind::TimedOut { .. }), "{late}");
}

#[tokio::test]
async fn a_transaction_has_no_sizes_and_a_session_of_a_snapshot_those_of_now() {
    let (database, buckets) = filled(&records()).await;
    let client = database.client();
    let mut snapshot = client.start_session().snapshot(true).await.unwrap();
    let before = buckets.sizes().session(&mut snapshot).await.unwrap();
    assert!(before.documents > 0);
    buckets
        .delete_key(records()[0].device.as_str())
        .await
        .unwrap();
    let after = buckets.sizes().session(&mut snapshot).await.unwrap();
    assert!(after.documents < before.documents);
    let mut session = client.start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let refused = buckets.sizes().session(&mut session).await.unwrap_err();
    assert!(refused.to_string().contains("transaction"), "{refused}");
    session.abort_transaction().await.unwrap();
}
