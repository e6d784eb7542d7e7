//! The buckets of a collection, and the invariants of each form, whatever the buckets contain.

use std::collections::BTreeMap;

use bucket_core::{Form, bucket};
use bucket_mongo::{
    Bucketed, Record,
    bson::{RawDocumentBuf, doc},
    mongodb::Database,
};
use futures_util::TryStreamExt;

use super::{
    invariants, naive,
    sample::{Sample, SampleBucket},
};

/// All buckets: key by key, in the order of the buckets of a key.
///
/// # Panics
///
/// If they cannot be read, or are not buckets of the model.
pub async fn stored<const F: usize>(database: &Database) -> Vec<SampleBucket<F>> {
    let collection = Sample::<F>::buckets(database).collection::<RawDocumentBuf>();
    let cursor = collection.find(doc! {}).await.expect("a cursor");
    let found: Vec<RawDocumentBuf> = cursor.try_collect().await.expect("buckets");
    let decode = |document: &RawDocumentBuf| bucket::decode::<Sample<F>>(document);
    let buckets: Result<Vec<_>, _> = found.iter().map(decode).collect();
    let mut buckets: Vec<SampleBucket<F>> = buckets.expect("buckets of the model");
    buckets.sort_by_key(|bucket| {
        let key = bucket.key.0.clone();
        let start = match Sample::<F>::SPEC.form() {
            Form::Window { .. } => Some((bucket.fields.start, bucket.id.sequence())),
            _ => None,
        };
        (key, bucket.fields.number, start, bucket.id.clone())
    });
    buckets
}

/// Whether a bucket accepts further records of its key.
///
/// # Panics
///
/// If its size is not the number of its items.
#[must_use]
pub fn has_room<const F: usize>(bucket: &SampleBucket<F>) -> bool {
    let spec = Sample::<F>::SPEC;
    let by_bytes = spec.max_bytes().is_some();
    match spec.form() {
        Form::Numbered { .. } => !bucket.fields.is_full,
        Form::Hybrid { .. } => !bucket.fields.is_closed,
        Form::Count { capacity } => bucket.count < capacity && !is_full_of_bytes(bucket, by_bytes),
        Form::Window { parts: true, .. } => false,
        Form::Window { capacity, .. } => {
            bucket.count < capacity.unwrap_or(u32::MAX) && !is_full_of_bytes(bucket, by_bytes)
        }
        form => panic!("no checks for {form:?}"),
    }
}

fn is_full_of_bytes<const F: usize>(bucket: &SampleBucket<F>, by_bytes: bool) -> bool {
    by_bytes && !invariants::check_bytes(bucket)
}

/// Counts and aggregates. A bucket that a writer of complete buckets left without records has none.
///
/// # Panics
///
/// If they do not match the items.
pub fn check_values<const F: usize>(bucket: &SampleBucket<F>) {
    if bucket.count > 0 {
        naive::check(bucket);
    } else {
        let is_count = matches!(Sample::<F>::SPEC.form(), Form::Count { .. });
        assert!(is_count && bucket.items.is_empty(), "{:?}", bucket.id);
    }
}

/// Capacity, open buckets, windows, spans and numbers.
///
/// # Panics
///
/// If the buckets break a promise of their form.
pub fn check_form<const F: usize>(buckets: &[SampleBucket<F>]) {
    let by_bytes = Sample::<F>::SPEC.max_bytes().is_some();
    match Sample::<F>::SPEC.form() {
        Form::Window { capacity, .. } => {
            invariants::check_windows(buckets, capacity.unwrap_or(u32::MAX), by_bytes);
        }
        Form::Hybrid { late, .. } => invariants::check_hybrid(buckets, late, by_bytes),
        Form::Numbered { .. } => invariants::check_numbered(buckets, by_bytes),
        Form::Count { capacity } => check_pages(buckets, capacity),
        form => panic!("no checks for {form:?}"),
    }
}

/// The same, where buckets may have been removed: this skips the relation between numbers.
///
/// # Panics
///
/// If the buckets break a promise of their form.
pub fn check_rest<const F: usize>(buckets: &[SampleBucket<F>]) {
    let Form::Numbered { .. } = Sample::<F>::SPEC.form() else {
        return check_form(buckets);
    };
    let mut open = BTreeMap::new();
    for bucket in buckets {
        let id = bucket.id.as_str();
        assert!(bucket.count <= bucket.fields.size, "over capacity: {id}");
        let is_full = bucket.count == bucket.fields.size;
        assert_eq!(bucket.fields.is_full, is_full, "the mark of {id}");
        if !is_full {
            let other = open.insert(bucket.key.0.clone(), id);
            assert!(other.is_none(), "two open buckets: {other:?}, {id}");
        }
    }
}

fn check_pages<const F: usize>(buckets: &[SampleBucket<F>], capacity: u32) {
    let mut open = BTreeMap::new();
    for bucket in buckets {
        assert!(bucket.count <= capacity, "over capacity: {:?}", bucket.id);
        if bucket.count < capacity {
            let other = open.insert(bucket.key.0.clone(), bucket.id.clone());
            assert!(
                other.is_none(),
                "two open buckets: {other:?}, {:?}",
                bucket.id
            );
        }
    }
}

/// The window of a bucket, if the form has windows.
#[must_use]
pub fn window_of<const F: usize>(bucket: &SampleBucket<F>) -> Option<i64> {
    let is_window = matches!(Sample::<F>::SPEC.form(), Form::Window { .. });
    is_window.then(|| bucket.fields.start.timestamp_millis())
}

/// The window of a record.
#[must_use]
pub fn window_of_record<const F: usize>(record: &Sample<F>) -> Option<i64> {
    const WINDOW: i64 = 1_000;
    let is_window = matches!(Sample::<F>::SPEC.form(), Form::Window { .. });
    is_window.then(|| record.at.timestamp_millis().div_euclid(WINDOW) * WINDOW)
}
