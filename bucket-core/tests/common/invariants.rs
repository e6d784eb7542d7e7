//! The invariants of stored buckets for each form, whoever wrote them.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::panic)]

use std::collections::{BTreeSet, HashMap};

use bucket_core::private::bson::{self, DateTime};
use bucket_core::{Form, LatePolicy, Record};

use super::sample::{self, DURATION, MAX_BYTES, Sample, SampleBucket};

/// The size that counts against the limit of bytes, computed only from the items.
pub fn check_bytes<const F: usize>(bucket: &SampleBucket<F>) -> bool {
    let sizes: Vec<u64> = bucket
        .items
        .iter()
        .map(|item| {
            let encoded = bson::serialize_to_vec(item).unwrap().len();
            let code = if item.code.is_empty() {
                1
            } else {
                item.code
                    .replace('%', "%25")
                    .replace('.', "%2E")
                    .replace('$', "%24")
                    .len()
            };
            // The item, its tallied value, an element of the array, a tally and a sketch.
            u64::try_from(encoded + code + 8 + 8 + 24).unwrap()
        })
        .collect();
    assert_eq!(bucket.fields.bytes, sizes.iter().sum::<u64>());
    // Only the last record may exceed the limit.
    let last = sizes.last().copied().unwrap_or_default();
    assert!(
        bucket.fields.bytes - last < u64::from(MAX_BYTES),
        "{:?}",
        bucket.id
    );
    bucket.fields.bytes < u64::from(MAX_BYTES)
}

/// Expects buckets in the order of their ids.
pub fn check_pages<const F: usize>(buckets: &[SampleBucket<F>], capacity: u32) {
    for (page, next) in buckets.iter().zip(buckets.iter().skip(1)) {
        if page.key == next.key {
            assert_eq!(page.count, capacity, "a page before the last is not full");
        }
        assert!(page.count <= capacity);
    }
}

/// Expects buckets in the order of their ids.
pub fn check_windows<const F: usize>(buckets: &[SampleBucket<F>], size: u32, by_bytes: bool) {
    if matches!(Sample::<F>::SPEC.form(), Form::Window { parts: true, .. }) {
        return check_parts(buckets);
    }
    let mut open = HashMap::new();
    for bucket in buckets {
        let (start, end) = (bucket.fields.start, bucket.fields.end);
        assert!(bucket.count <= size, "{:?}", bucket.id);
        let held =
            |item: &sample::SampleItem| start <= item.at && (item.at < end || end == DateTime::MAX);
        assert!(bucket.items.iter().all(held), "{:?}", bucket.id);
        let has_room = bucket.count < size && (!by_bytes || check_bytes(bucket));
        if has_room {
            let first = open.insert((bucket.key.0.clone(), start), bucket.id.clone());
            assert!(
                first.is_none(),
                "two open buckets: {first:?}, {:?}",
                bucket.id
            );
        }
    }
}

/// Expects buckets in parts: numbered from 0 in each window, without gaps.
fn check_parts<const F: usize>(buckets: &[SampleBucket<F>]) {
    let mut windows: HashMap<_, BTreeSet<u64>> = HashMap::new();
    for bucket in buckets {
        let (start, end) = (bucket.fields.start, bucket.fields.end);
        assert!(
            (1..=sample::CAPACITY).contains(&bucket.count),
            "{:?}",
            bucket.id
        );
        let held =
            |item: &sample::SampleItem| start <= item.at && (item.at < end || end == DateTime::MAX);
        assert!(bucket.items.iter().all(held), "{:?}", bucket.id);
        // An object id has no number.
        if F != sample::PARTS_OBJECT {
            let parts = windows.entry((bucket.key.0.clone(), start)).or_default();
            assert!(parts.insert(bucket.id.sequence()), "{:?}", bucket.id);
        }
    }
    for parts in windows.values() {
        assert!(parts.iter().copied().eq(0..parts.len() as u64), "{parts:?}");
    }
}

/// Expects buckets in the order of their ids.
pub fn check_numbered<const F: usize>(buckets: &[SampleBucket<F>], by_bytes: bool) {
    let mut next = HashMap::new();
    for bucket in buckets {
        let number = next.entry(bucket.key.0.clone()).or_insert((1, true));
        assert_eq!(bucket.fields.number, number.0, "numbers rise by one");
        assert!(
            number.1,
            "{:?} was opened before the last one was full",
            bucket.id
        );
        let full = bucket.count == bucket.fields.size || (by_bytes && !check_bytes(bucket));
        assert_eq!(bucket.fields.is_full, full, "{:?}", bucket.id);
        assert!(bucket.count <= bucket.fields.size);
        *number = (number.0 + 1, full);
    }
}

/// Expects buckets in the order of their ids.
pub fn check_hybrid<const F: usize>(
    buckets: &[SampleBucket<F>],
    policy: LatePolicy,
    by_bytes: bool,
) {
    let mut open = BTreeSet::new();
    let mut side = BTreeSet::new();
    for bucket in buckets {
        let fields = bucket.fields;
        assert!(bucket.count <= sample::CAPACITY);
        let times = || bucket.items.iter().map(|item| item.at);
        assert!(fields.start <= times().min().unwrap());
        assert_eq!(fields.end, times().max().unwrap());
        let length =
            i128::from(fields.end.timestamp_millis()) - i128::from(fields.start.timestamp_millis());
        assert!(length < i128::from(DURATION), "{:?}: {length}", bucket.id);
        if !fields.is_late {
            assert!(
                fields.start == bucket.items[0].at,
                "it starts with its first record"
            );
        }
        if !fields.is_closed {
            assert!(
                open.insert(bucket.key.0.clone()),
                "two open buckets of {}",
                bucket.key.0
            );
            assert!(bucket.count < sample::CAPACITY);
        }
        let has_room = bucket.count < sample::CAPACITY && (!by_bytes || check_bytes(bucket));
        assert!(has_room || fields.is_closed);
        if fields.is_late && has_room {
            let first = side.insert((bucket.key.0.clone(), fields.start));
            assert!(first, "two side buckets with room at {:?}", fields.start);
        }
        assert!(!fields.is_late || (fields.is_closed && policy != LatePolicy::Reject));
    }
}
