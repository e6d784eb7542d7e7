//! Decides which buckets may take more records.

use bson::{Document, RawDocument, doc};

use crate::{bucket::Head, model::spec::BucketSpec};

/// The condition that buckets with room meet.
pub(super) fn takes_more(spec: &BucketSpec) -> Document {
    let mut condition = spec.open_condition();
    if spec.form().mark().is_none() {
        // After the capacity was raised, the index counts some of them as full.
        let below = i32::try_from(spec.size()).unwrap_or(i32::MAX);
        condition.insert(spec.names().count, doc! { "$lt": below });
    }
    condition
}

/// The same for a bucket that was read.
pub(super) fn has_room(spec: &BucketSpec, head: &Head, count: u32, stored: &RawDocument) -> bool {
    if spec.form().in_parts() {
        return false;
    }
    if let Some(mark) = spec.form().mark() {
        return stored
            .get_bool(mark.name(spec.names()))
            .is_ok_and(|mark| !mark);
    }
    let by_bytes = spec.max_bytes().is_none_or(|max| {
        // A bucket from before the model counted bytes takes no more.
        let is_counted = matches!(stored.get(spec.names().bytes), Ok(Some(_)));
        is_counted && head.fields.bytes < u64::from(max)
    });
    count < spec.size() && by_bytes
}
