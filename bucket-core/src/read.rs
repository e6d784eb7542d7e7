//! Reading: the finished documents of every read.
//!
//! Except for reads of all keys, each read names all key fields by equality. So it targets one
//! shard, and the index on the key fields and `_id` (`bucket_pages`) answers it. Ids order as the
//! buckets were opened, so page `n` is the `n`-th bucket by `_id`.

use bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};

use crate::{
    bucket::{ElementSink, StoredKey, id, record::Record},
    codec::raw::RawWriter,
    error::KeyError,
    model::{
        form::OrderedBy,
        key::{KeyValue, RecordKey},
        spec::{BucketSpec, ID, ID_INDEX},
    },
};

mod across;
mod arrange;
mod by_record_id;
mod cut;
mod fill;
mod in_bucket;
mod in_commands;
mod keys;
mod latest;
mod live;
mod matching;
mod merging;
mod newest;
mod numbers;
mod order;
mod pages;
mod parts;
mod places;
mod range_stats;
mod record_ref;
mod references;
mod rollup;
mod sizes;
mod span;
mod stats_pipeline;
mod summaries;
mod tails;
mod token;
mod walk;

pub use self::{
    across::{LONGEST_WINDOW, across_keys},
    arrange::sort_by_time,
    fill::{Amount, CapacityUse, ExpiryReport, ExpiryStep, FillReader, FillReport, SizeClass},
    in_bucket::InBucket,
    in_commands::in_commands,
    keys::{FieldValue, KeyScan, found_key, is_key_value, other_ends, with_others},
    latest::{FurtherLook, newest_since},
    live::{Live, live, live_stats},
    newest::Newest,
    pages::{key_document, last_page, page, page_count, pages, record_count},
    range_stats::{RangeTotals, StatsReader},
    record_ref::{RecordRef, Referenced},
    references::references,
    rollup::{RollupReader, RollupSteps, RollupTotals, StepTotals},
    sizes::{Sizes, sizes},
    span::{is_whole, longest, overlapping},
    stats_pipeline::stats_pipeline,
    summaries::{KeySummary, read_summary, summaries, summarised_key},
    tails::{newest, open_buckets},
    token::{CursorToken, IntoCursorToken, TokenError},
    walk::{Placed, Ready, RecordPlace, Tokens, Turns, Walk, WalkOrder},
};
pub(crate) use self::{
    by_record_id::{bucket_with, repeats},
    cut::CUTS,
    in_commands::in_one_command,
    keys::end_of,
    latest::{NEWEST, PACKED as IN_NEWEST},
    live::younger,
    span::can_hold,
    tails::any_buckets,
    tails::{
        Remembered, bucket_at, is_merged, items_at, newest_between, newest_in_order,
        newest_or_merged, newest_part, newest_with, remembered,
    },
    token::{CHECK, QUERY, check, query_of},
};

/// A key in the forms that reads need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadKey {
    /// The key fields as BSON elements; see [`key_elements`].
    elements: Vec<u8>,
    /// The part of its buckets' ids before the time.
    prefix: String,
}

impl ReadKey {
    /// Builds the forms of this key.
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

/// A `find`: filter, sort, skip, limit, projection and the index to use.
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
    /// The read level.
    pub level: ReadLevel,
}

/// What a read must see of the primary's data: the level of its read concern.
///
/// ```
/// # use bucket_core::{BucketSpec, read::{self, ReadLevel}};
/// fn is_for_all_to_see(spec: &BucketSpec, key: &[u8]) -> bool {
///     read::newest(spec, key).level == ReadLevel::Local
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ReadLevel {
    /// Everything, although a failover may roll it back.
    #[default]
    Local,
    /// What a majority has. A later write builds on it, so a change of the primary must not undo
    /// it.
    Majority,
    /// What a majority has, and at least what the earlier reads have seen.
    CausalMajority,
}

impl FindPlan {
    /// The same read with read concern `majority`.
    #[must_use]
    pub(crate) fn of_majority(mut self) -> Self {
        self.level = ReadLevel::Majority;
        self
    }

    /// The `find` command whose reply carries every document in its first batch, by the [simple](SIMPLE)
    /// collation.
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
                KeyValue::Int64(i64::try_from(self.skip).unwrap_or(i64::MAX)),
            );
            writer.key("limit", KeyValue::Int64(self.limit));
            writer.int32("batchSize", SINGLE_BATCH);
            writer.bool("singleBatch", true);
            writer.string("hint", &self.hint);
            let collation = writer.begin_document("collation");
            writer.string("locale", SIMPLE);
            writer.end(collation);
        })
    }
}

/// The locale of the collation that compares bytes. Every read of buckets names it: with that of a collection a key
/// would have the buckets of others, and a collection can be made anew at any time. Where the collection has none, the
/// server plans the same with it and without it.
pub const SIMPLE: &str = "simple";

/// More than any read of this crate returns in one batch.
const SINGLE_BATCH: i32 = 10_000;

/// An aggregation and the index to use.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AggregatePlan {
    /// The stages.
    pub pipeline: Vec<Document>,
    /// The name of the index; empty for none.
    pub hint: String,
    /// Whether the server may put what it groups on its disk.
    pub spills: bool,
}

/// The key fields as BSON elements, as filters need them.
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
/// [`KeyError`] if a field is missing, has another type or is out of range.
pub fn stored_key<T: Record>(stored: &RawDocument) -> Result<Vec<u8>, KeyError> {
    let key = T::Key::read(&mut StoredKey {
        stored,
        spec: T::SPEC,
        next: 0,
    })?;
    Ok(key_elements::<T>(&key))
}

fn key_filter(key: &[u8]) -> RawDocumentBuf {
    RawWriter::build(|writer| writer.elements(key))
}

pub(crate) fn find(spec: &BucketSpec, filter: RawDocumentBuf) -> FindPlan {
    FindPlan {
        filter,
        sort: order(spec, 1),
        skip: 0,
        limit: 0,
        projection: Document::new(),
        hint: spec.pages_index_name(),
        level: ReadLevel::Local,
    }
}

/// These buckets of a key, in the order of their places.
pub(crate) fn buckets_by_id(spec: &BucketSpec, key: &[u8], ids: Vec<Bson>) -> FindPlan {
    let filter = RawWriter::build(|writer| {
        writer.elements(key);
        fields(writer, &doc! { ID: { "$in": ids } });
    });
    FindPlan {
        hint: ID_INDEX.to_owned(),
        ..find(spec, filter)
    }
}

/// The order of a key's buckets: by id, or by number if they are numbered.
fn order(spec: &BucketSpec, direction: i32) -> Document {
    let names = spec.names();
    match spec.ordered_by() {
        OrderedBy::Id => doc! { ID: direction },
        OrderedBy::Start => doc! { names.start: direction, names.part: direction },
        OrderedBy::Number => doc! { names.number: direction },
    }
}

/// The condition for a bucket with records, in the form whose last bucket may be empty for a
/// moment. Damaged buckets meet it too.
pub(crate) fn has_records(spec: &BucketSpec) -> Document {
    if !spec.form().reserves() {
        return Document::new();
    }
    let empty = doc! { spec.names().count: 0, spec.items(): { "$size": 0 } };
    doc! { "$nor": [empty] }
}

/// Writes the fields of a document as elements of the open document.
pub(crate) fn fields(writer: &mut RawWriter, document: &Document) {
    if let Ok(raw) = RawDocumentBuf::try_from(document) {
        // Between the length and the final NUL.
        let bytes = raw.as_bytes();
        writer.elements(bytes.get(4..bytes.len() - 1).unwrap_or_default());
    }
}

/// The buckets of any of these keys that meet the condition. The filter allows an index on the keys
/// and on the fields of the condition.
fn any_key(spec: &BucketSpec, keys: &[&[u8]], condition: &Document) -> RawDocumentBuf {
    let one = |writer: &mut RawWriter, key: &[u8]| {
        writer.elements(key);
        // Each branch repeats the condition, because only such branches can use a partial index.
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

fn aggregate(spec: &BucketSpec, pipeline: Vec<Document>) -> AggregatePlan {
    AggregatePlan {
        pipeline,
        hint: spec.pages_index_name(),
        spills: false,
    }
}
