//! The reads of buckets to seal, and of sealed ones.

use bson::{Document, doc};

use super::Due;
use crate::{
    bucket::sealed::{archived_path, expired_path, is_packed_filter},
    check::{ScanPlan, index_order},
    codec::raw::RawWriter,
    model::{
        form::{OwnField, Span},
        spec::BucketSpec,
    },
    read::{ReadKey, can_hold, fields},
    time::range::TimeRange,
};

/// The buckets of a key, or of all, that may be due: those of the span whose items are rows.
#[must_use]
pub fn unsealed_buckets(
    spec: &BucketSpec,
    key: Option<&ReadKey>,
    range: TimeRange,
    due: &Due,
) -> ScanPlan {
    let names = spec.names();
    let mut condition = doc! { spec.items(): { "$type": "array" } };
    if spec.form().span() != Span::None {
        condition.insert(names.end, doc! { "$lte": due.until });
    }
    for mark in [OwnField::Closed, OwnField::Full] {
        if spec.form().mark() == Some(mark) {
            condition.insert(mark.name(names), true);
        }
    }
    scan(spec, key, range, &condition)
}

/// The sealed buckets of a key, or of all, that can hold records of the span and are not archived.
#[must_use]
pub fn sealed_buckets(spec: &BucketSpec, key: Option<&ReadKey>, range: TimeRange) -> ScanPlan {
    let mut condition = is_packed_filter(spec);
    for elsewhere in [archived_path(), expired_path()] {
        condition.insert(elsewhere, doc! { "$exists": false });
    }
    scan(spec, key, range, &condition)
}

/// Buckets that meet a condition.
pub(crate) fn scan(
    spec: &BucketSpec,
    key: Option<&ReadKey>,
    range: TimeRange,
    condition: &Document,
) -> ScanPlan {
    let plan = in_places(spec, key, range, condition);
    // Of all keys, windows are read in the order of their ends: their index leads to those that are due.
    match spec.span_index_name().filter(|_| key.is_none()) {
        Some(by_time) => ScanPlan {
            sort: doc! { spec.names().end: 1, spec.names().start: 1 },
            hint: by_time,
            ..plan
        },
        None => plan,
    }
}

/// The same in the order of their keys and places.
pub(crate) fn in_places(
    spec: &BucketSpec,
    key: Option<&ReadKey>,
    range: TimeRange,
    condition: &Document,
) -> ScanPlan {
    ScanPlan {
        filter: RawWriter::build(|writer| {
            writer.elements(key.map(ReadKey::elements).unwrap_or_default());
            let both = writer.begin_array("$and");
            let spanned = writer.begin_element(0);
            can_hold(writer, spec, range);
            writer.end(spanned);
            let other = writer.begin_element(1);
            fields(writer, condition);
            writer.end(other);
            writer.end(both);
        }),
        min: None,
        max: None,
        sort: index_order(spec),
        hint: spec.pages_index_name(),
        projection: Document::new(),
    }
}
