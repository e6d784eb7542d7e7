//! The forms of histories, and the invariants of the buckets of each.

use std::{collections::BTreeMap, panic};

use bucket_core::{Form, Record};

use crate::{
    history::{Ended, run},
    invariants,
    model::Disturbed,
    plan::Plan,
    sample::{self, Sample, SampleBucket},
};

macro_rules! forms {
    ($($form:ident)*) => {
        const NAMES: &[&str] = &[$(stringify!($form)),*];
        const RUN: &[fn(&Plan, bool) -> Ended] = &[$(run::<Sample<{ sample::$form }>>),*];
    };
}

forms! {
    COUNT COUNT_AVG COUNT_IDS
    WINDOW_CAPACITY WINDOW_BYTES
    HYBRID_SIDE
    NUMBERED NUMBERED_IDS
    HYBRID_MERGE HYBRID_REJECT HYBRID_IDS
    WINDOW_IDS
    WINDOW_OBJECT NUMBERED_OBJECT
    COUNT_ATTRIBUTES WINDOW_ATTRIBUTES HYBRID_ATTRIBUTES NUMBERED_ATTRIBUTES
    WINDOW_MERGED WINDOW_BYTES_MERGED
    PARTS PARTS_IDS PARTS_OBJECT PARTS_MERGED
}

/// The number of forms.
#[must_use]
pub fn number() -> usize {
    NAMES.len()
}

/// The name of the form at this index.
#[must_use]
pub fn name(at: usize) -> &'static str {
    NAMES[at]
}

/// Runs a history; records its steps if requested.
#[must_use]
pub fn play(plan: &Plan, told: bool) -> Ended {
    RUN[plan.form](plan, told)
}

pub(crate) fn check<const F: usize>(buckets: &[SampleBucket<F>], disturbed: Disturbed) {
    let spec = Sample::<F>::SPEC;
    let by_bytes = spec.max_bytes().is_some();
    if disturbed.unindexed {
        return;
    }
    match spec.form() {
        _ if disturbed.mixed => buckets.iter().for_each(check_own_limits),
        // Who planned before goes on after what is gone, while others begin anew. The same holds after a statement
        // whose number was taken: the next ones rely on it, and are executed.
        Form::Window { .. } | Form::Hybrid { .. } | Form::Numbered { .. }
            if disturbed.removed || disturbed.miscounted => {}
        // A sealed bucket takes no more, full or not.
        Form::Window { .. } | Form::Hybrid { .. } if disturbed.sealed => {}
        Form::Window { capacity, .. } => {
            invariants::check_windows(buckets, capacity.unwrap_or(u32::MAX), by_bytes);
        }
        Form::Hybrid { late, .. } => invariants::check_hybrid(buckets, late, by_bytes),
        Form::Numbered { .. } => invariants::check_numbered(buckets, by_bytes),
        Form::Count { capacity } => check_pages(buckets, capacity, by_bytes, disturbed),
        form => panic!("no checks for {form:?}"),
    }
}

fn check_pages<const F: usize>(
    buckets: &[SampleBucket<F>],
    capacity: u32,
    by_bytes: bool,
    disturbed: Disturbed,
) {
    let mut open = BTreeMap::new();
    for bucket in buckets {
        assert!(bucket.count <= capacity, "over capacity: {:?}", bucket.id);
        let has_room = bucket.count < capacity && (!by_bytes || invariants::check_bytes(bucket));
        if has_room {
            let other = open.insert(bucket.key.0.clone(), bucket.id.clone());
            assert!(
                other.is_none(),
                "two open buckets: {other:?}, {:?}",
                bucket.id
            );
        }
    }
    if !by_bytes && !disturbed.removed {
        invariants::check_pages(buckets, capacity);
    }
}

/// With limits of their own, buckets keep the limits that they were opened with.
fn check_own_limits<const F: usize>(bucket: &SampleBucket<F>) {
    let size = bucket.fields.size;
    assert!(
        size == 0 || bucket.count <= size,
        "over its own capacity: {:?}",
        bucket.id
    );
    assert!(bucket.count <= 100, "over every capacity: {:?}", bucket.id);
}
