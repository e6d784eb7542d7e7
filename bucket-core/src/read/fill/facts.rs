//! What the server computes of each bucket.
//!
//! The expressions never fail, whatever is stored. A bucket that cannot be counted is damaged: only its number
//! and its bytes are used.

use bson::{Bson, DateTime, Document, doc};

use super::{
    classes::{OF_BYTES, OF_RECORDS, class_of_capacity},
    schedule::Schedule,
};
use crate::{
    bucket::{
        edits::removed,
        merged::MERGED,
        sealed::{expired_path, has, is_packed},
    },
    model::{
        form::Form,
        spec::{BucketSpec, ID},
    },
    read::{latest::key_fields, numbers::is_whole},
};

/// Fields of the stages.
const LENGTH: &str = "length";
const FULL: &str = "full";
const OVER: &str = "over";
const TYPES: &str = "types";

/// Fields of the stages and of the rows.
pub(super) const KEY: &str = "key";
pub(super) const IS_MERGED: &str = "merged";
pub(super) const STATE: &str = "state";
pub(super) const DUE: &str = "due";
pub(super) const COUNT: &str = "count";
pub(super) const REMOVED: &str = "removed";
pub(super) const BYTES: &str = "bytes";
pub(super) const CAPACITY: &str = "capacity";
pub(super) const BUCKETS: &str = "buckets";
pub(super) const EXAMPLE: &str = "example";
/// Of the buckets of a row: the class by percent of the capacity, by records, by bytes.
pub(super) const BY_CAPACITY: &str = "by_capacity";
pub(super) const BY_RECORDS: &str = "by_records";
pub(super) const BY_BYTES: &str = "by_bytes";
/// The least and the greatest of the buckets of a row.
pub(super) const LEAST: &str = "least";
pub(super) const MOST: &str = "most";

/// States of a bucket.
pub(super) const IS_OPEN: &str = "open";
pub(super) const IS_OVER: &str = "over";
pub(super) const IS_FULL: &str = "full";
pub(super) const IS_EMPTY: &str = "empty";
pub(super) const IS_DAMAGED: &str = "damaged";

/// The stages that turn buckets into rows: a row for all buckets that are the same in what the report
/// distinguishes, or one for each bucket, with its key.
pub(super) fn stages(
    spec: &BucketSpec,
    form: Form,
    schedule: Option<&Schedule>,
    now: DateTime,
    for_each: bool,
) -> Vec<Document> {
    let mut read = of_bucket(spec, form, now);
    // Where keys have limits of their own, the client compares the count with them.
    let full_with = spec.full_with(form).filter(|_| !for_each);
    let mut judged = doc! {
        STATE: state(spec, form, full_with), COUNT: 1, REMOVED: 1, BYTES: 1, CAPACITY: 1,
    };
    if let Some(schedule) = schedule {
        read.insert(DUE, schedule.due(spec));
        judged.insert(DUE, 1);
    }
    if for_each {
        read.insert(KEY, key_fields(spec));
        judged.insert(KEY, 1);
        if spec.merge().is_some() {
            read.insert(IS_MERGED, has(MERGED));
            judged.insert(IS_MERGED, 1);
        }
    }
    let rows = if for_each {
        doc! { "$project": row() }
    } else {
        doc! { "$group": group() }
    };
    vec![doc! { "$project": read }, doc! { "$project": judged }, rows]
}

/// What a bucket says of itself.
fn of_bucket(spec: &BucketSpec, form: Form, now: DateTime) -> Document {
    let items = format!("${}", spec.items());
    // The number of packed items is not stored beside them.
    let packed = doc! { "$cond": [is_packed(spec), format!("${}", spec.names().count), -1] };
    let length = doc! { "$cond": [{ "$isArray": &items }, { "$size": &items }, packed] };
    let mut removed = removed();
    if spec.keep_stats().is_some() {
        // Those that have expired are gone.
        let all = format!("${}", spec.names().count);
        removed = doc! { "$cond": [has(&expired_path()), all, removed] };
    }
    doc! {
        COUNT: format!("${}", spec.names().count),
        LENGTH: length,
        REMOVED: removed,
        BYTES: { "$toLong": { "$bsonSize": "$$ROOT" } },
        CAPACITY: capacity(spec, form),
        FULL: literal(spec.takes_no_more(form)),
        OVER: literal(spec.is_over(form, now)),
        TYPES: { "$and": spec.has_right_types(form) },
    }
}

/// How many records it takes; null without a limit. A merged bucket has the records of several.
fn capacity(spec: &BucketSpec, form: Form) -> Bson {
    let own = literal(spec.stored_capacity(form));
    if spec.merge().is_none() {
        return own;
    }
    doc! { "$cond": [has(MERGED), null, own] }.into()
}

/// As a value and not as the choice of a field.
fn literal(value: Bson) -> Bson {
    match value {
        Bson::String(_) | Bson::Document(_) => value,
        value => doc! { "$literal": value }.into(),
    }
}

/// The state of a bucket by what was read of it.
fn state(spec: &BucketSpec, form: Form, full_with: Option<i32>) -> Document {
    let field = |name: &str| format!("${name}");
    let mut sound = vec![
        is_whole(&field(COUNT)),
        doc! { "$eq": [field(COUNT), field(LENGTH)] },
        is_whole(&field(REMOVED)),
        doc! { "$lte": [field(REMOVED), field(COUNT)] },
        doc! { "$eq": [field(TYPES), true] },
    ];
    if matches!(spec.stored_capacity(form), Bson::String(_)) {
        sound.push(is_whole(&field(CAPACITY)));
        sound.push(doc! { "$gt": [field(CAPACITY), 0] });
    }
    let mut branches = vec![doc! { "case": { "$not": [{ "$and": sound }] }, "then": IS_DAMAGED }];
    if spec.form().reserves() {
        branches.push(doc! { "case": { "$eq": [field(COUNT), 0] }, "then": IS_EMPTY });
    }
    branches.push(doc! { "case": { "$eq": [field(FULL), true] }, "then": IS_FULL });
    if let Some(most) = full_with {
        branches.push(doc! { "case": { "$gte": [field(COUNT), most] }, "then": IS_FULL });
    }
    branches.push(doc! { "case": { "$eq": [field(OVER), true] }, "then": IS_OVER });
    doc! { "$switch": { "branches": branches, "default": IS_OPEN } }
}

/// What tells rows apart, the same for all buckets whose numbers are not used.
fn identity() -> Document {
    let left = doc! { "$subtract": [format!("${COUNT}"), format!("${REMOVED}")] };
    let of_sound = doc! {
        STATE: format!("${STATE}"),
        DUE: format!("${DUE}"),
        BY_CAPACITY: class_of_capacity(&format!("${COUNT}"), &format!("${CAPACITY}")),
        BY_RECORDS: { "$let": { "vars": { "left": left }, "in": OF_RECORDS.class("$$left") } },
        BY_BYTES: OF_BYTES.class(&format!("${BYTES}")),
    };
    doc! { "$cond": [is_counted(), of_sound, { STATE: format!("${STATE}") }] }
}

fn is_counted() -> Document {
    doc! { "$not": [{ "$in": [format!("${STATE}"), [IS_DAMAGED, IS_EMPTY]] }] }
}

/// Of buckets that are counted: this whole number; of others 0.
fn number(name: &str) -> Document {
    let field = format!("${name}");
    let number = doc! { "$toLong": { "$ifNull": [field, 0] } };
    doc! { "$cond": [is_counted(), number, 0_i64] }
}

/// The part of its capacity that a bucket uses; null if it is not counted, or has no capacity.
fn used() -> Document {
    let (count, capacity) = (format!("${COUNT}"), format!("${CAPACITY}"));
    let has_both = doc! { "$and": [is_counted(), { "$isNumber": &capacity }] };
    doc! { "$cond": [has_both, { "$divide": [count, capacity] }, null] }
}

/// The `_id` of a damaged bucket.
fn example() -> Document {
    let is_damaged = doc! { "$eq": [format!("${STATE}"), IS_DAMAGED] };
    doc! { "$cond": [is_damaged, { ID: format!("${ID}") }, null] }
}

fn row() -> Document {
    doc! {
        ID: identity(),
        KEY: 1,
        IS_MERGED: 1,
        BUCKETS: { "$literal": 1_i64 },
        COUNT: number(COUNT),
        REMOVED: number(REMOVED),
        CAPACITY: number(CAPACITY),
        BYTES: 1,
        LEAST: used(),
        MOST: used(),
        EXAMPLE: example(),
    }
}

fn group() -> Document {
    doc! {
        ID: identity(),
        BUCKETS: { "$sum": 1_i64 },
        COUNT: { "$sum": number(COUNT) },
        REMOVED: { "$sum": number(REMOVED) },
        CAPACITY: { "$sum": number(CAPACITY) },
        BYTES: { "$sum": format!("${BYTES}") },
        LEAST: { "$min": used() },
        MOST: { "$max": used() },
        // One of them suffices.
        EXAMPLE: { "$min": example() },
    }
}
