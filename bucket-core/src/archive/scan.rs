//! The reads of buckets to archive, and of archived ones.

use bson::{Bson, DateTime, Document, doc};

use crate::{
    bucket::{
        archived::size_of_reference,
        sealed::{
            FIRST, LAST, SEALED, archived_path, copied_path, expired_path, is_packed_filter,
            sealed_filter,
        },
    },
    check::ScanPlan,
    codec::raw::RawWriter,
    model::spec::{BucketSpec, ID, ID_INDEX},
    read::{FindPlan, ReadKey, ReadLevel, fields, find, younger},
    seal::scan::{in_places, scan},
    time::range::TimeRange,
};

/// The sealed buckets of a key, or of all, that can hold records of the span, and whose last record is not after a
/// time. Those of a key come one after the other if `by_key` says so: it reads the index entries of all buckets.
#[must_use]
pub fn archivable_buckets(
    spec: &BucketSpec,
    key: Option<&ReadKey>,
    range: TimeRange,
    until: DateTime,
    by_key: bool,
) -> ScanPlan {
    let mut condition = within(spec, range);
    condition.insert(format!("{SEALED}.{LAST}"), {
        let mut last = doc! { "$lte": until };
        last.extend(range.start().map(|start| ("$gte".to_owned(), start.into())));
        last
    });
    for elsewhere in [archived_path(), expired_path()] {
        condition.insert(elsewhere, doc! { "$exists": false });
    }
    if by_key {
        in_places(spec, key, range, &condition)
    } else {
        scan(spec, key, range, &condition)
    }
}

/// The archived buckets of a key, or of all, that can hold records of the span, which have not expired at `now` if their
/// statistics are kept for longer.
#[must_use]
pub fn archived_buckets(
    spec: &BucketSpec,
    key: Option<&ReadKey>,
    range: TimeRange,
    now: DateTime,
) -> ScanPlan {
    let is_whole = range.start().is_none() && range.end().is_none();
    let mut condition = if is_whole {
        doc! { "$or": [says_archived(), unmarked(spec)] }
    } else {
        let mut condition = within(spec, range);
        condition.insert("$or", [says_archived(), may_refer(spec)]);
        condition
    };
    let younger = younger(spec, spec.headers_until(now));
    if !younger.is_empty() {
        // The span may be about the same field.
        condition.insert("$and", [younger]);
    }
    scan(spec, key, range, &condition)
}

/// All of all keys and times, however old: of each only what says whose it is, and where its items are. Another model may keep
/// them for longer.
#[must_use]
pub fn references(spec: &BucketSpec) -> ScanPlan {
    let mut projection = doc! { ID: 1, spec.items(): 1, SEALED: 1 };
    for key in spec.keys() {
        projection.insert(key.path, 1);
    }
    let any = [says_archived(), unmarked(spec)];
    ScanPlan {
        projection,
        ..scan(spec, None, TimeRange::ALL, &doc! { "$or": any })
    }
}

/// The condition for buckets that do not say that they are archived, or when their records are. They come back too, and can
/// then be mended.
fn unmarked(spec: &BucketSpec) -> Document {
    let damaged = doc! { format!("{SEALED}.{FIRST}"): { "$not": { "$type": "date" } } };
    let mut unmarked = is_packed_filter(spec);
    unmarked.insert("$or", [may_refer(spec), damaged]);
    unmarked
}

/// Sealed buckets with a record of the span, as they say themselves: not every form has other fields for that.
fn within(spec: &BucketSpec, range: TimeRange) -> Document {
    let mut condition = sealed_filter(spec);
    if let Some(start) = range.start() {
        condition.insert(format!("{SEALED}.{LAST}"), doc! { "$gte": start });
    }
    if let Some(end) = range.end() {
        let first = doc! { "$type": "date", "$lt": end };
        condition.insert(format!("{SEALED}.{FIRST}"), first);
    }
    condition
}

fn says_archived() -> Document {
    doc! { archived_path(): { "$exists": true } }
}

fn was_archived() -> Document {
    doc! { copied_path(): { "$exists": true } }
}

/// The condition for the items of a bucket to have the size of a reference: another tool may have taken away what the bucket
/// says of itself.
fn may_refer(spec: &BucketSpec) -> Document {
    let items = format!("${}", spec.items());
    doc! { "$expr": { "$cond": [
        { "$eq": [{ "$type": &items }, "binData"] },
        { "$eq": [{ "$binarySize": &items }, size_of_reference()] },
        false,
    ] } }
}

/// These buckets.
#[must_use]
pub fn buckets(spec: &BucketSpec, ids: Vec<Bson>) -> FindPlan {
    let filter = RawWriter::build(|writer| fields(writer, &doc! { ID: { "$in": ids } }));
    FindPlan {
        sort: Document::new(),
        projection: doc! { ID: 1, spec.items(): 1 },
        hint: ID_INDEX.to_owned(),
        // Not older than a statement that a member has acknowledged by itself.
        level: ReadLevel::CausalMajority,
        ..find(spec, filter)
    }
}

/// The archived buckets of the key: their ids and their references, those that were archived before their records have expired
/// (`was_archived`), and some that may be archived (`is_archived`).
#[must_use]
pub fn references_of_key(spec: &BucketSpec, key: &ReadKey) -> FindPlan {
    let filter = RawWriter::build(|writer| {
        writer.elements(key.elements());
        let any = doc! { "$or": [says_archived(), was_archived(), may_refer(spec)] };
        fields(writer, &any);
    });
    FindPlan {
        projection: doc! { ID: 1, spec.items(): 1, spec.age_field(): 1, archived_path(): 1, copied_path(): 1 },
        ..find(spec, filter)
    }
}
