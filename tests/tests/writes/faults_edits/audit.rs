//! The comparison of what is stored with what the answers say.

use std::collections::BTreeMap;

use bucket_mongo::{
    Buckets, RecordChange, WatchEvent,
    bson::{DateTime, Document, doc},
};
use futures_util::TryStreamExt;

use super::models::{Payment, Possible};

/// Everything that is stored, by its id.
pub(super) async fn stored<T: Payment>(buckets: &Buckets<T>) -> BTreeMap<i64, T> {
    let mut stored = BTreeMap::new();
    let collection = buckets.collection::<Document>();
    for account in collection.distinct("account", doc! {}).await.unwrap() {
        let account = account.as_i64().unwrap();
        let records: Vec<T> = buckets.records(account).collect().await.unwrap();
        let count = buckets.count(account).await.unwrap();
        assert_eq!(count, records.len() as u64, "the count of {account}");
        for record in records {
            let id = record.id();
            assert_eq!(record.state().account, account, "{record:?}");
            let other = stored.insert(id, record);
            assert!(other.is_none(), "{id} is stored twice: {other:?}");
        }
    }
    stored
}

/// Every answer was true.
pub(super) async fn check<T: Payment>(
    buckets: &Buckets<T>,
    known: impl IntoIterator<Item = (i64, Possible)>,
) {
    let report = buckets.verify().await.unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
    aggregates_are_those_of_the_items(buckets).await;
    let mut stored = stored(buckets).await;
    for (id, possible) in known {
        let found = stored.remove(&id);
        let state = found.as_ref().map(Payment::state);
        assert!(
            possible.contains(&state),
            "{id} is {state:?} of {possible:?}"
        );
        let whole = state.map(|state| T::of(id, state));
        assert_eq!(found, whole, "{id}");
    }
    assert!(stored.is_empty(), "nobody has sent {stored:?}");
    eprintln!("{:?}: {report}", T::SPEC.form());
}

/// What each stored bucket says of its records, computed again from its items, without the library.
#[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
async fn aggregates_are_those_of_the_items<T: Payment>(buckets: &Buckets<T>) {
    let collection = buckets.collection::<Document>();
    let all = collection.find(doc! {}).await.unwrap();
    let all: Vec<Document> = all.try_collect().await.unwrap();
    for bucket in all {
        let items = bucket.get_array("items").unwrap();
        let count = bucket.get_i32("count").unwrap();
        assert_eq!(usize::try_from(count), Ok(items.len()), "{bucket}");
        let items = items.iter().map(|item| item.as_document().unwrap());
        let left = items.filter(|item| !item.contains_key("_removed"));
        let left = left.map(|item| {
            let at = *item.get_datetime("at").unwrap();
            (at, item.get_i64("amount").unwrap())
        });
        let left: Vec<(DateTime, i64)> = left.collect();
        let removed = bucket.get_document("_edits").ok();
        let removed = removed.map_or(0, |edits| edits.get_i64("removed").unwrap());
        assert_eq!(
            i64::from(count) - removed,
            i64::try_from(left.len()).unwrap(),
            "{bucket}"
        );
        let amounts = || left.iter().map(|(_, amount)| *amount);
        let stats = bucket.get_document("stats").unwrap();
        let stored = |name: &str| stats.get_i64(name).ok();
        let total: i64 = amounts().sum();
        assert_eq!(stored("total").unwrap_or(0), total, "{bucket}");
        assert_eq!(stored("least"), amounts().min(), "{bucket}");
        assert_eq!(stored("greatest"), amounts().max(), "{bucket}");
        let last = stats.get_document("latest").ok();
        let last = last.map(|last| last.get_i64("v").unwrap());
        let newest = left.iter().map(|(at, _)| *at).max();
        let latest = left.iter().filter(|(at, _)| Some(*at) == newest);
        let latest: Vec<Option<i64>> = latest.map(|(_, amount)| Some(*amount)).collect();
        assert!(latest.contains(&last) || latest.is_empty(), "{bucket}");
        if let Ok(mean) = stats.get_f64("avg") {
            let expected = total as f64 / left.len() as f64;
            assert!((mean - expected).abs() <= expected.abs() * 1e-9, "{bucket}");
        }
    }
}

/// The records as the events of a watch leave them, by their places.
#[derive(Debug)]
pub(super) struct Replayed<T>(BTreeMap<(String, u32), T>);

impl<T: Payment> Replayed<T> {
    pub(super) fn new() -> Self {
        Self(BTreeMap::new())
    }

    pub(super) fn add(&mut self, event: WatchEvent<T>) {
        let bucket = format!("{:?}", event.bucket);
        match event.change {
            RecordChange::Stored { record, index, .. } => {
                let other = self.0.insert((bucket, index), record);
                assert!(other.is_none(), "the place of {other:?} was taken");
            }
            RecordChange::Updated { record, index, .. } => {
                let other = self.0.insert((bucket, index), record);
                assert!(other.is_some(), "nothing was there to be edited");
            }
            RecordChange::Removed { index, .. } => {
                let other = self.0.remove(&(bucket, index));
                assert!(other.is_some(), "nothing was there to be removed");
            }
            // Of an erased account.
            RecordChange::BucketRemoved { .. } => self.0.retain(|(of, _), _| *of != bucket),
            RecordChange::Rewritten { .. } => panic!("no other tool writes: {bucket}"),
            _ => panic!("another change of {bucket}"),
        }
    }

    pub(super) fn has(&self, id: i64) -> bool {
        self.0.values().any(|record| record.id() == id)
    }

    /// By their ids.
    pub(super) fn records(self) -> BTreeMap<i64, T> {
        let number = self.0.len();
        let records: BTreeMap<i64, T> = self.0.into_values().map(|it| (it.id(), it)).collect();
        assert_eq!(records.len(), number, "a record is there twice");
        records
    }
}
