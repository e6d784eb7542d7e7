//! The comparison of what is stored with what the answers say.

use std::collections::BTreeMap;

use bucket_mongo::{Buckets, RecordChange, WatchEvent};

use super::models::{ACCOUNTS, Payment, Possible};

/// Everything that is stored, by its id.
pub(super) async fn stored<T: Payment>(buckets: &Buckets<T>) -> BTreeMap<i64, T> {
    let mut stored = BTreeMap::new();
    for account in 0..ACCOUNTS {
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
    assert_eq!(report.harmful(), 0, "{:?}", report.findings);
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
            RecordChange::BucketRemoved { .. } | RecordChange::Rewritten { .. } => {
                panic!("nobody removes a bucket, and no other tool writes: {bucket}")
            }
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
