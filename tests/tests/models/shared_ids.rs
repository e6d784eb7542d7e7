//! `verify` finds record ids in two buckets of a key where no index forbids them, and `repair` moves one of the two.

use std::collections::BTreeSet;

use bucket_mongo::{
    Buckets, Problem, ProblemKind, Which,
    bson::{Bson, Document, doc},
    testing::TestDatabase,
};
use bucket_tests::{database, documents};
use futures_util::TryStreamExt;

use super::verify::{
    Aging, Counted, Event, Hybrid, Numbered, Windowed, WindowedObjects, buckets_of, date, kinds,
    replaced, set, stored,
};

macro_rules! forms {
    ($($test:ident $name:ident,)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            an_id_in_two_buckets_is_found_and_one_bucket_moves::<$name>().await;
        }
    )*};
}

forms! {
    an_id_in_two_counted_buckets Counted,
    an_id_in_two_aging_buckets Aging,
    an_id_in_two_windows Windowed,
    an_id_in_two_windows_with_object_ids WindowedObjects,
    an_id_in_two_hybrid_buckets Hybrid,
    an_id_in_two_numbered_buckets Numbered,
}

const INDEX: &str = "bucket_unique";

async fn without_the_index<T: Event>(database: &TestDatabase) -> Buckets<T> {
    let events = stored::<T>(database).await;
    let collection = database.collection::<Document>("events");
    collection.drop_index(INDEX).await.unwrap();
    events
}

/// Gives an item the record id of another one.
async fn give(database: &TestDatabase, device: &str, bucket: usize, item: usize, name: &str) {
    let bucket = &buckets_of(database, device).await[bucket];
    let path = format!("items.{item}.name");
    let damaged = set(bucket, &path, name.into()).unwrap();
    let id = bucket.get("_id").unwrap();
    assert!(replaced(database, id, &damaged).await);
}

fn ids(buckets: &[Document]) -> BTreeSet<String> {
    let ids = buckets.iter().map(|it| it.get("_id").unwrap().to_string());
    ids.collect()
}

async fn an_id_in_two_buckets_is_found_and_one_bucket_moves<T: Event>() {
    let database = database().await;
    let events = without_the_index::<T>(&database).await;
    // The same ids under two keys are two records, and without the index nothing else is found.
    give(&database, "b", 2, 0, "a 4").await;
    let report = events.verify().await.unwrap();
    assert!(report.found.is_empty(), "{report}");
    assert_eq!(report.indexes.len(), 1, "{report}");

    let before = documents(&database, "events").await;
    give(&database, "a", 2, 1, "a 1").await;
    give(&database, "a", 2, 2, "a 2").await;
    give(&database, "full", 1, 0, "full 8").await;
    let report = events.verify().await.unwrap();
    assert_eq!(
        kinds(&report.findings),
        BTreeSet::from([ProblemKind::SharedId]),
        "{report}"
    );
    assert_eq!((report.total(), report.harmful()), (2, 2), "{report}");
    for (device, pair, at, number) in [("a", [0, 2], 1, 2), ("full", [1, 2], 0, 1)] {
        let buckets = buckets_of(&database, device).await;
        let pair: Vec<Document> = pair.into_iter().map(|at| buckets[at].clone()).collect();
        let mut findings = report.findings.iter();
        let finding = findings
            .find(|it| it.key.get_str("device").unwrap() == device)
            .unwrap();
        let Problem::SharedId {
            other,
            index,
            ids: many,
            ..
        } = &finding.problem
        else {
            panic!("{finding}");
        };
        let named = BTreeSet::from([finding.id.to_string(), other.to_string()]);
        assert_eq!(named, ids(&pair), "{finding}");
        assert_eq!(*many, number, "{finding}");
        // Numbered buckets come in descending order.
        assert!(*index == at || device == "full" || *index == 1, "{finding}");
    }
    // So does a stream, and a check of one key, or of a span that has both.
    let streamed: Vec<_> = events.verify().stream().try_collect().await.unwrap();
    assert_eq!(streamed, report.findings);
    let of_key = events.verify().key(T::key_of("a")).await.unwrap();
    assert_eq!(of_key.findings, report.findings[..1]);
    let mut session = database.client().start_session().await.unwrap();
    let read = events.verify().session(&mut session).await.unwrap();
    assert_eq!(read.findings, report.findings);

    let dry = events.repair(&report).dry_run().await.unwrap();
    assert_eq!((dry.quarantined, dry.mended), (2, 0), "{dry}");
    let all = documents(&database, "events").await;
    let repaired = events.repair(&report).await.unwrap();
    assert_eq!(
        (repaired.quarantined, repaired.mended),
        (2, 0),
        "{repaired}"
    );
    let moved = documents(&database, "events_quarantine").await;
    let moved = moved
        .iter()
        .map(|it| it.get_document("document").unwrap().clone());
    let moved: Vec<Document> = moved.collect();
    let named: BTreeSet<String> = report.findings.iter().map(|it| it.id.to_string()).collect();
    assert_eq!(ids(&moved), named);
    assert!(moved.iter().all(|moved| all.contains(moved)));
    assert_eq!(documents(&database, "events").await.len(), before.len() - 2);
    let left = kinds(&events.verify().await.unwrap().findings);
    assert!(
        left.iter().all(|kind| *kind == ProblemKind::Gap),
        "{left:?}"
    );
    // Nothing is in the way of the index any more.
    let ensured = events.ensure().await.unwrap();
    assert!(ensured.drift.is_empty(), "{ensured}");
    assert!(
        !events
            .verify()
            .await
            .unwrap()
            .findings
            .iter()
            .any(|it| it.problem.kind() == ProblemKind::SharedId)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_is_not_unique_forbids_nothing() {
    let database = database().await;
    let events = without_the_index::<Windowed>(&database).await;
    let index = doc! { "key": { "device": 1, "sensor": 1, "items.name": 1 }, "name": INDEX };
    let create = doc! { "createIndexes": "events", "indexes": [index] };
    database.run_command(create).await.unwrap();
    give(&database, "a", 1, 0, "a 0").await;
    let report = events.verify().await.unwrap();
    assert_eq!(
        kinds(&report.findings),
        BTreeSet::from([ProblemKind::SharedId]),
        "{report}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_mark_of_a_moved_record_shares_no_id_with_the_record() {
    let database = database().await;
    let events = stored::<Windowed>(&database).await;
    let key = || Windowed::key_of("a");
    let moved = events.update(key(), Which::id(&"a 1"), |record| {
        *record = Windowed::of("a", date(100), 1);
    });
    let moved = moved.await.unwrap();
    assert!(moved.is_some());
    assert!(
        events
            .delete(key(), Which::id(&"a 2"))
            .await
            .unwrap()
            .is_some()
    );
    let collection = database.collection::<Document>("events");
    collection.drop_index(INDEX).await.unwrap();
    let report = events.verify().await.unwrap();
    assert!(report.found.is_empty(), "{report}");
    // The marks are no records.
    assert_eq!(report.records, 28, "{report}");
    // The id of a removed record is still one.
    give(&database, "a", 1, 0, "a 2").await;
    let report = events.verify().await.unwrap();
    assert_eq!(
        kinds(&report.findings),
        BTreeSet::from([ProblemKind::SharedId]),
        "{report}"
    );
}

/// A whole bucket stored under another id, as a restore may leave it.
#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_is_stored_twice_is_found_as_one_pair() {
    let database = database().await;
    let events = without_the_index::<Counted>(&database).await;
    let buckets = buckets_of(&database, "full").await;
    let id = buckets[1].get_str("_id").unwrap();
    let copy = set(&buckets[1], "_id", Bson::from(format!("{id}_1"))).unwrap();
    database
        .collection::<Document>("events")
        .insert_one(&copy)
        .await
        .unwrap();
    let report = events.verify().await.unwrap();
    assert_eq!(report.total(), 1, "{report}");
    let Problem::SharedId { ids, index, .. } = &report.findings[0].problem else {
        panic!("{report}");
    };
    assert_eq!((*ids, *index), (3, 0));
    let repaired = events.repair(&report).await.unwrap();
    assert_eq!(repaired.quarantined, 1, "{repaired}");
    assert_eq!(buckets_of(&database, "full").await, buckets);
}
