//! A limit applies to already stored data only if a call requests it by name.

use bucket_core::index::{Drift, Removal};
use bucket_mongo::{
    EnsureReport,
    bson::{DateTime, Document, doc},
    testing::TestDatabase,
};
use futures_util::TryStreamExt;

use super::{
    models::Event,
    stored::{COLLECTION, ago, database, documents, expire_index, numbers, removed},
};

/// Full buckets of old records and of new ones, and one old bucket with room.
async fn fill<W: Event>(database: &TestDatabase) -> Vec<W> {
    let events = W::buckets(database);
    events.ensure().await.unwrap();
    let now = DateTime::now();
    let old = (0..200).map(|n| W::of(n % 2, ago(now, 8_000 - n), n));
    let new = (200..240).map(|n| W::of(n % 2, ago(now, 300 - n), n));
    let open = [W::of(2, ago(now, 9_000), 240)];
    let records: Vec<W> = old.chain(new).chain(open).collect();
    let report = events.insert_many(&records).await.unwrap();
    report.into_result().unwrap();
    records
}

/// What the server would remove, per index.
fn removals(report: &EnsureReport) -> Vec<Removal> {
    let removals = report.drift.iter().filter_map(|drift| match drift {
        Drift::Expiry {
            expected: Some(3_600),
            found: None,
            removes,
            ..
        } => Some(removes.expect("a small collection is counted")),
        _ => None,
    });
    removals.collect()
}

/// Waits until the server has looked twice for data to remove.
async fn two_passes(database: &TestDatabase) {
    let passes = || async {
        let status = database.run_command(doc! { "serverStatus": 1 }).await;
        let status: Document = status.unwrap();
        let metrics = status.get_document("metrics").unwrap();
        let passes = metrics.get_document("ttl").unwrap().get("passes").unwrap();
        passes.as_i64().unwrap()
    };
    let before = passes().await;
    while passes().await < before + 2 {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

pub(crate) async fn a_limit_that_a_model_gains_removes_nothing_without_consent<
    L: Event,
    S: Event,
    W: Event,
>() {
    let database = database().await;
    let records = fill::<W>(&database).await;
    let events = S::buckets(&database);

    for report in [
        events.ensure().await.unwrap(),
        events.ensure().replace_indexes().await.unwrap(),
    ] {
        let removals = removals(&report);
        assert!(!removals.is_empty(), "{report}");
        assert!(report.to_string().contains("change_expiry()"), "{report}");
    }
    assert_eq!(expire_index(&database).await, None);
    two_passes(&database).await;
    let before = documents(&database).await;
    assert_eq!(numbers(&before).len(), records.len());

    // Writes continue, and new records are kept.
    let new = S::of(7, DateTime::now(), 1_000);
    events.insert(&new).await.unwrap();

    let seen = removals(&events.ensure().await.unwrap());
    let report = events.ensure().change_expiry().await.unwrap();
    assert!(report.drift.is_empty(), "{report}");
    assert!(expire_index(&database).await.is_some());
    let after = removed::<S>(&database).await;
    let gone = u64::try_from(before.len() + 1 - after.len()).unwrap();
    let records_gone = u64::try_from(records.len() + 1 - numbers(&after).len()).unwrap();
    // A bucket that meets two conditions is counted for both.
    let (most, fewest) = (
        seen.iter().map(|it| it.buckets).sum::<u64>(),
        seen.iter().map(|it| it.buckets).max().unwrap(),
    );
    assert!(
        gone > 0 && (fewest..=most).contains(&gone),
        "{gone} {seen:?}"
    );
    if let [one] = seen[..] {
        assert_eq!((one.buckets, one.records), (gone, records_gone));
    }
    assert!(numbers(&after).contains(&1_000));
    assert!(events.ensure().await.unwrap().drift.is_empty());
}

pub(crate) async fn an_empty_collection_gets_the_limit_at_once<L: Event, S: Event, W: Event>() {
    let database = database().await;
    W::buckets(&database).ensure().await.unwrap();
    let report = S::buckets(&database).ensure().await.unwrap();
    assert!(report.drift.is_empty(), "{report}");
    assert!(expire_index(&database).await.is_some());
}

pub(crate) async fn another_index_of_the_name_is_replaced_without_removing_anything<
    L: Event,
    S: Event,
    W: Event,
>() {
    let database = database().await;
    let records = fill::<W>(&database).await;
    let other = doc! { "key": { "other": 1 }, "name": "bucket_expire" };
    let command = doc! { "createIndexes": COLLECTION, "indexes": [other] };
    database.run_command(command).await.unwrap();

    let report = S::buckets(&database).ensure().replace_indexes().await;
    let report = report.unwrap();
    assert!(!removals(&report).is_empty(), "{report}");
    assert_eq!(expire_index(&database).await, None);
    two_passes(&database).await;
    assert_eq!(numbers(&documents(&database).await).len(), records.len());
    let indexes = database.run_cursor_command(doc! { "listIndexes": COLLECTION });
    let indexes: Vec<Document> = indexes.await.unwrap().try_collect().await.unwrap();
    let removing = |index: &Document| index.contains_key("expireAfterSeconds");
    assert!(!indexes.iter().any(removing), "{indexes:?}");
}
