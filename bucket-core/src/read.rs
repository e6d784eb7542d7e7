//! Reading: the finished documents of every read.
//!
//! Each read but those about all keys names all key fields by equality, so it targets one shard,
//! and is answered from the index on the key fields and `_id` (`bucket_pages`). Ids order as the
//! buckets were opened, so page `n` is the `n`-th bucket by `_id`.

use bson::{DateTime, Document, RawDocument, RawDocumentBuf, doc};

use crate::{
    bucket::StoredKey,
    error::KeyError,
    form::Form,
    id,
    index::open_condition,
    key::RecordKey,
    raw::RawWriter,
    record::Record,
    spec::{BucketSpec, ID},
    write::ElementSink,
};

mod across;
mod latest;
mod live;
mod newest;
mod order;
mod parts;
mod places;
mod range_stats;
mod repeats;
mod span;
mod token;
mod walk;

pub use self::live::{Live, live};
pub(crate) use self::repeats::repeats;
pub use self::{
    across::{LONGEST_WINDOW, across_keys},
    latest::{
        FieldValue, FurtherLook, is_key_value, newest_by_field, newest_by_next, newest_since,
        other_ends, with_others,
    },
    newest::Newest,
    range_stats::{RangeTotals, StatsReader},
    span::{is_whole, longest, overlapping},
    token::{CursorToken, IntoCursorToken, TokenError},
    walk::{Placed, RecordPlace, Tokens, Walk, WalkOrder},
};

/// A key in the forms that reads need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadKey {
    /// The key fields as BSON elements; see [`key_elements`].
    elements: Vec<u8>,
    /// What stands before the time in the ids of its buckets.
    prefix: String,
}

impl ReadKey {
    /// The forms of this key.
    ///
    /// ```
    /// # use bucket_core::{Record, read::ReadKey};
    /// fn read<T: Record>(key: &T::Key) -> ReadKey {
    ///     ReadKey::of::<T>(key)
    /// }
    /// ```
    #[must_use]
    pub fn of<T: Record>(key: &T::Key) -> Self {
        Self {
            elements: key_elements::<T>(key),
            prefix: id::prefix(T::SPEC, key),
        }
    }

    /// The key fields as BSON elements.
    #[must_use]
    pub fn elements(&self) -> &[u8] {
        &self.elements
    }
}

/// A `find`: filter, sort, skip, limit, projection and the index it is to use.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FindPlan {
    /// The filter.
    pub filter: RawDocumentBuf,
    /// The sort order; empty for none.
    pub sort: Document,
    /// Documents to skip.
    pub skip: u64,
    /// The largest number of documents; 0 for no limit.
    pub limit: i64,
    /// The fields to return; empty for all.
    pub projection: Document,
    /// The name of the index.
    pub hint: String,
}

impl FindPlan {
    /// The `find` command whose reply carries every document in its first batch.
    #[must_use]
    pub fn single_batch(&self, collection: &str) -> RawDocumentBuf {
        RawWriter::build(|writer| {
            writer.string("find", collection);
            writer.document("filter", &self.filter);
            for (name, document) in [("sort", &self.sort), ("projection", &self.projection)] {
                if let Ok(raw) = RawDocumentBuf::try_from(document) {
                    writer.document(name, &raw);
                }
            }
            writer.key(
                "skip",
                crate::KeyValue::Int64(i64::try_from(self.skip).unwrap_or(i64::MAX)),
            );
            writer.key("limit", crate::KeyValue::Int64(self.limit));
            writer.int32("batchSize", SINGLE_BATCH);
            writer.bool("singleBatch", true);
            writer.string("hint", &self.hint);
        })
    }
}

/// More than any read of this crate returns in one batch.
const SINGLE_BATCH: i32 = 10_000;

/// An aggregation and the index it is to use.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AggregatePlan {
    /// The stages.
    pub pipeline: Vec<Document>,
    /// The name of the index.
    pub hint: String,
}

/// The key fields as BSON elements, in the form that filters take.
///
/// ```
/// # use bucket_core::{Record, read};
/// fn elements<T: Record>(key: &T::Key) -> Vec<u8> {
///     read::key_elements::<T>(key)
/// }
/// ```
#[must_use]
pub fn key_elements<T: Record>(key: &T::Key) -> Vec<u8> {
    let mut writer = RawWriter::default();
    key.visit(&mut ElementSink::new(T::SPEC, &mut writer));
    writer.into_bytes()
}

/// The key fields of a stored bucket, in the form of [`key_elements`].
///
/// # Errors
///
/// [`KeyError`] if a field is missing, of another type or out of range.
pub fn stored_key<T: Record>(stored: &RawDocument) -> Result<Vec<u8>, KeyError> {
    let key = T::Key::read(&mut StoredKey {
        stored,
        spec: T::SPEC,
        next: 0,
    })?;
    Ok(key_elements::<T>(&key))
}

/// The bucket of this `_id`, its `_id` alone.
#[must_use]
pub fn by_id(id: &str) -> FindPlan {
    FindPlan {
        filter: RawWriter::build(|writer| writer.string(ID, id)),
        sort: Document::new(),
        skip: 0,
        limit: 1,
        projection: doc! { ID: 1 },
        hint: "_id_".to_owned(),
    }
}

fn key_filter(key: &[u8]) -> RawDocumentBuf {
    RawWriter::build(|writer| writer.elements(key))
}

fn find(spec: &BucketSpec, filter: RawDocumentBuf) -> FindPlan {
    FindPlan {
        filter,
        sort: order(spec, 1),
        skip: 0,
        limit: 0,
        projection: Document::new(),
        hint: spec.pages_index_name(),
    }
}

/// The order of a key's buckets: by id, and by number where they are numbered.
fn order(spec: &BucketSpec, direction: i32) -> Document {
    let names = spec.names();
    match spec.form() {
        Form::Numbered { .. } => doc! { names.number: direction },
        Form::Window { .. } if spec.object_ids() => {
            doc! { names.start: direction, names.part: direction }
        }
        _ => doc! { ID: direction },
    }
}

/// Page `number` of a key, counted from 1: its `number`-th bucket, or the one of that number.
#[must_use]
pub fn page(spec: &BucketSpec, key: &[u8], number: u64) -> FindPlan {
    if let Form::Numbered { .. } = spec.form() {
        let filter = RawWriter::build(|writer| {
            writer.elements(key);
            // No bucket has a number beyond that.
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

/// Every page of a key behind the bucket `after`, in order.
#[must_use]
pub fn pages(spec: &BucketSpec, key: &[u8], after: Option<&str>) -> FindPlan {
    let filter = RawWriter::build(|writer| {
        writer.elements(key);
        if let Some(after) = after {
            let number = match spec.form() {
                Form::Numbered { .. } => id::parse_place(spec, after).ok(),
                _ => None,
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
    });
    find(spec, filter)
}

/// The newest bucket of a key, without its items.
#[must_use]
pub fn newest(spec: &BucketSpec, key: &[u8]) -> FindPlan {
    FindPlan {
        sort: order(spec, -1),
        limit: 1,
        projection: header(spec),
        ..find(spec, key_filter(key))
    }
}

/// The newest bucket of a key that fulfils the condition.
#[must_use]
pub(crate) fn newest_with(spec: &BucketSpec, key: &[u8], condition: &Document) -> FindPlan {
    let filter = RawWriter::build(|writer| {
        writer.elements(key);
        fields(writer, condition);
    });
    FindPlan {
        filter,
        ..newest(spec, key)
    }
}

/// The newest bucket of a key that holds no late records: in ids of whole seconds one that does
/// may sort behind it.
#[must_use]
pub(crate) fn newest_in_order(spec: &BucketSpec, key: &[u8]) -> FindPlan {
    newest_with(spec, key, &doc! { spec.names().late: { "$exists": false } })
}

/// The newest bucket of a key whose id lies between these two, the first of them included and
/// the second not; only one that fulfils the condition.
#[must_use]
pub(crate) fn newest_between(
    spec: &BucketSpec,
    key: &[u8],
    ids: (&str, &str),
    condition: &Document,
) -> FindPlan {
    let filter = RawWriter::build(|writer| {
        writer.elements(key);
        let range = writer.begin_document(ID);
        writer.string("$gte", ids.0);
        writer.string("$lt", ids.1);
        writer.end(range);
        fields(writer, condition);
    });
    FindPlan {
        sort: doc! { ID: -1 },
        limit: 1,
        projection: header(spec),
        ..find(spec, filter)
    }
}

/// The last part of a window whose ids are object ids; only one that fulfils the condition.
#[must_use]
pub(crate) fn newest_part(
    spec: &BucketSpec,
    key: &[u8],
    start: DateTime,
    mut condition: Document,
) -> FindPlan {
    let names = spec.names();
    condition.insert(names.start, start);
    let filter = RawWriter::build(|writer| {
        writer.elements(key);
        fields(writer, &condition);
    });
    FindPlan {
        sort: doc! { names.start: -1, names.part: -1 },
        limit: 1,
        projection: header(spec),
        ..find(spec, filter)
    }
}

/// The fields of a bucket that a writer goes by.
fn header(spec: &BucketSpec) -> Document {
    let names = spec.names();
    let mut header = doc! { ID: 1, names.count: 1 };
    let form: &[&str] = match spec.form() {
        Form::Count { .. } => &[],
        Form::Window { .. } => &[names.start, names.end, names.part],
        Form::Hybrid { .. } => &[names.start, names.end, names.closed, names.late],
        Form::Numbered { .. } => &[names.number, names.size, names.full],
    };
    let bytes = spec.max_bytes().map(|_| names.bytes);
    for name in form.iter().copied().chain(bytes) {
        header.insert(name, 1);
    }
    header
}

/// Writes the fields of a document as elements of the one that is open.
fn fields(writer: &mut RawWriter, document: &Document) {
    if let Ok(raw) = RawDocumentBuf::try_from(document) {
        // Between the length and the closing NUL.
        let bytes = raw.as_bytes();
        writer.elements(bytes.get(4..bytes.len() - 1).unwrap_or_default());
    }
}

/// The buckets of any of these keys that fulfil the condition, so that an index of the keys and of
/// what the condition names can be used.
fn any_key(spec: &BucketSpec, keys: &[&[u8]], condition: &Document) -> RawDocumentBuf {
    let one = |writer: &mut RawWriter, key: &[u8]| {
        writer.elements(key);
        // Each branch repeats the condition: a partial index is used by those alone that do.
        fields(writer, condition);
    };
    RawWriter::build(|writer| match (keys, spec.keys()) {
        ([key], _) => one(writer, key),
        // One field: one scan over the index instead of a plan for each key.
        (_, [field]) => {
            let one_of = writer.begin_document(field.path);
            let values = writer.begin_array("$in");
            for (index, key) in keys.iter().enumerate() {
                writer.value_of(index, key);
            }
            writer.end(values);
            writer.end(one_of);
            fields(writer, condition);
        }
        _ => {
            let any = writer.begin_array("$or");
            for (index, key) in keys.iter().enumerate() {
                let branch = writer.begin_element(index);
                one(writer, key);
                writer.end(branch);
            }
            writer.end(any);
        }
    })
}

/// The open buckets of these keys: key fields, id and count of each.
#[must_use]
pub fn open_buckets(spec: &BucketSpec, keys: &[&[u8]]) -> FindPlan {
    let filter = any_key(spec, keys, &open_condition(spec));
    let mut projection = header(spec);
    for key in spec.keys() {
        projection.insert(key.path, 1);
    }
    FindPlan {
        sort: Document::new(),
        projection,
        hint: spec.open_index_name().unwrap_or_default(),
        ..find(spec, filter)
    }
}

/// The number of pages of a key, under `pages`; no document if there are none.
#[must_use]
pub fn page_count(spec: &BucketSpec, key: &Document) -> AggregatePlan {
    aggregate(
        spec,
        vec![doc! { "$match": key }, doc! { "$count": "pages" }],
    )
}

/// The number of records of a key, from the stored counts, under `records`; the ids of buckets whose
/// count is no whole number, under `damaged` (at most a few are of use, none is expected); no document if
/// there are no buckets.
#[must_use]
pub fn record_count(spec: &BucketSpec, key: &Document) -> AggregatePlan {
    let count = format!("${}", spec.names().count);
    let number = doc! { "$cond": [{ "$isNumber": &count }, &count, -1] };
    // No number is below NaN but above 0, and infinity is above every count.
    let whole = doc! { "$and": [
        { "$gte": [&number, 0] },
        { "$lte": [&number, i32::MAX] },
        { "$eq": [&number, { "$trunc": &number }] },
    ] };
    let damaged = doc! { "$cond": [&whole, "$$REMOVE", format!("${ID}")] };
    let group = doc! {
        "_id": null,
        "records": { "$sum": { "$toLong": { "$cond": [&whole, &count, 0] } } },
        "damaged": { "$push": damaged },
    };
    aggregate(spec, vec![doc! { "$match": key }, doc! { "$group": group }])
}

fn aggregate(spec: &BucketSpec, pipeline: Vec<Document>) -> AggregatePlan {
    AggregatePlan {
        pipeline,
        hint: spec.pages_index_name(),
    }
}
