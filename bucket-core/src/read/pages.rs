//! The manual's pages: a bucket is a page.

use bson::{Document, doc};

use super::{
    AggregatePlan, FindPlan, aggregate, fields, find, has_records, key_elements, key_filter,
    newest_with, numbers::is_whole,
};
use crate::{
    bucket::{edits::removed, id, record::Record},
    codec::raw::RawWriter,
    model::{
        form::OrderedBy,
        spec::{BucketSpec, ID},
    },
};

/// Page `number` of a key, counted from 1: its `number`-th bucket, or the bucket with that number.
#[must_use]
pub fn page(spec: &BucketSpec, key: &[u8], number: u64) -> FindPlan {
    if spec.ordered_by() == OrderedBy::Number {
        let filter = RawWriter::build(|writer| {
            writer.elements(key);
            // No bucket has a larger number.
            writer.integer(
                spec.names().number,
                i64::try_from(number).unwrap_or(i64::MAX),
            );
        });
        return FindPlan {
            limit: 1,
            ..find(spec, filter)
        };
    }
    // The server counts in 64-bit signed integers.
    let skip = number.saturating_sub(1).min(i64::MAX.unsigned_abs());
    FindPlan {
        skip,
        limit: 1,
        ..find(spec, key_filter(key))
    }
}

/// Every page of a key after the bucket `after`, in order.
#[must_use]
pub fn pages(spec: &BucketSpec, key: &[u8], after: Option<&str>) -> FindPlan {
    let filter = RawWriter::build(|writer| {
        writer.elements(key);
        if let Some(after) = after {
            let number = match spec.ordered_by() {
                OrderedBy::Number => id::parse_place(spec, after).ok(),
                OrderedBy::Id | OrderedBy::Start => None,
            };
            if let Some(place) = number {
                let behind = writer.begin_document(spec.names().number);
                writer.int64("$gt", place.time);
                writer.end(behind);
            } else {
                let behind = writer.begin_document(ID);
                writer.string("$gt", after);
                writer.end(behind);
            }
        }
        fields(writer, &has_records(spec));
    });
    find(spec, filter)
}

/// The number of pages of a key, under `pages`; no document if it has none.
///
/// In the manual's form, the last bucket may be empty and is then not a page. The count then ends
/// at `last`, the result of [`last_page`].
#[must_use]
pub fn page_count(spec: &BucketSpec, key: &Document, last: Option<&str>) -> AggregatePlan {
    let mut filter = key.clone();
    if let Some(last) = last {
        // `$lte` would not count a bucket whose id is no text.
        filter.insert(ID, doc! { "$not": { "$gt": last } });
    }
    aggregate(
        spec,
        vec![doc! { "$match": filter }, doc! { "$count": "pages" }],
    )
}

/// The `_id` of a key's last bucket with records, for the form whose last bucket may be empty.
///
/// ```
/// # use bucket_core::{BucketSpec, read};
/// fn are_all_pages(spec: &BucketSpec, key: &[u8]) -> bool {
///     read::last_page(spec, key).is_none()
/// }
/// ```
#[must_use]
pub fn last_page(spec: &BucketSpec, key: &[u8]) -> Option<FindPlan> {
    if !spec.form().reserves() {
        return None;
    }
    Some(FindPlan {
        projection: doc! { ID: 1 },
        ..newest_with(spec, key, &has_records(spec))
    })
}

/// The key fields as a condition.
///
/// ```
/// # use bucket_core::{Record, read};
/// fn every_bucket<T: Record>(key: &T::Key) -> bson::Document {
///     read::key_document::<T>(key)
/// }
/// ```
#[must_use]
pub fn key_document<T: Record>(key: &T::Key) -> Document {
    // Written element by element, so it is valid.
    Document::try_from(key_filter(&key_elements::<T>(key))).unwrap_or_default()
}

/// The number of records of a key, from the stored counts, under `records`. Under `damaged`, the
/// ids of buckets whose count is not a whole number; there should be none, and a few suffice. No
/// document if the key has no buckets.
#[must_use]
pub fn record_count(spec: &BucketSpec, key: &Document) -> AggregatePlan {
    let count = format!("${}", spec.names().count);
    let whole = is_whole(&count);
    let damaged = doc! { "$cond": [&whole, "$$REMOVE", format!("${ID}")] };
    let left = doc! { "$subtract": [&count, removed()] };
    let group = doc! {
        "_id": null,
        "records": { "$sum": { "$toLong": { "$cond": [&whole, left, 0] } } },
        "damaged": { "$push": damaged },
    };
    aggregate(spec, vec![doc! { "$match": key }, doc! { "$group": group }])
}
