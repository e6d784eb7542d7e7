//! Typed buckets: from stored bytes to the struct that the derive makes, and back.

mod decode;
mod head;
mod items;
mod key;
mod shared;
mod stored;

use bson::{DateTime, RawDocument};

pub use self::{
    decode::{decode, decode_within},
    stored::{deserialize_bucket, serialize_bucket},
};
pub(crate) use self::{
    head::{
        Head, bson_damage, date_field, field, head, place_alone, printed_id, stored_count,
        stored_fields, stored_place, whole_field, wrong_field,
    },
    items::{ItemReader, item_time, items},
    key::{StoredKey, key_of},
    shared::{SplitItem, has_exact_equality, write_all},
};
use crate::{id::BucketId, record::Record, stats::StoredStats};

/// The parts of every bucket, whatever its fields are called.
#[derive(Debug)]
pub struct BucketParts<T: Record> {
    /// The id, from `_id`.
    pub id: BucketId<T>,
    /// The key fields.
    pub key: T::Key,
    /// The number of items.
    pub count: u32,
    /// The fields that depend on the model's form.
    pub fields: BucketFields,
    /// The aggregates.
    pub stats: StoredStats,
    /// The items in their order of arrival.
    pub items: Vec<T::Item>,
}

/// The fields of a bucket that depend on the model's form; what a form does not have is as by
/// default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BucketFields {
    /// The start of the window, or the time of the first record.
    pub start: DateTime,
    /// The end of the window, or the time of the latest record.
    pub end: DateTime,
    /// The number of the bucket.
    pub number: u64,
    /// The capacity that the bucket was opened with.
    pub size: u32,
    /// Whether the bucket takes no more records.
    pub is_full: bool,
    /// Whether the bucket takes no more records in order.
    pub is_closed: bool,
    /// Whether the bucket holds late records.
    pub is_late: bool,
    /// The size of the items in bytes.
    pub bytes: u64,
    /// When the bucket was opened by the clock of its writer.
    pub created_at: Option<DateTime>,
    /// From when on the age of the bucket counts.
    pub expire_from: Option<DateTime>,
}

impl Default for BucketFields {
    fn default() -> Self {
        Self {
            start: DateTime::MIN,
            end: DateTime::MIN,
            number: 0,
            size: 0,
            is_full: false,
            is_closed: false,
            is_late: false,
            bytes: 0,
            created_at: None,
            expire_from: None,
        }
    }
}

impl BucketFields {
    /// The span of time from the start to the end, in milliseconds; 0 where the form sets none.
    pub(crate) fn span(&self) -> i64 {
        let (start, end) = (self.start.timestamp_millis(), self.end.timestamp_millis());
        end.saturating_sub(start)
    }
}

/// A view of the parts of a bucket.
#[derive(Debug)]
pub struct BucketRef<'a, T: Record> {
    /// The id.
    pub id: &'a BucketId<T>,
    /// The key fields.
    pub key: T::Key,
    /// The number of items.
    pub count: u32,
    /// The fields that depend on the model's form.
    pub fields: BucketFields,
    /// The aggregates.
    pub stats: &'a StoredStats,
    /// The items in their order of arrival.
    pub items: &'a [T::Item],
}

/// The typed bucket document of a model; the derive makes one for each.
pub trait BucketDocument: Sized {
    /// The record that the buckets hold.
    type Record: Record<Bucket = Self>;

    /// The document of these parts.
    fn from_parts(parts: BucketParts<Self::Record>) -> Self;

    /// The parts of this document.
    fn into_parts(self) -> BucketParts<Self::Record>;

    /// A view of the parts.
    fn as_ref(&self) -> BucketRef<'_, Self::Record>;
}

/// Whether a stored bucket has records: in the manual's form the last one of a key may have none for a moment, while
/// whole ones are stored before it. Reads show nothing of it.
///
/// ```
/// # use bson::RawDocument;
/// # use bucket_core::{Record, bucket};
/// fn is_page<T: Record>(stored: &RawDocument) -> bool {
///     bucket::has_records::<T>(stored)
/// }
/// ```
#[must_use]
pub fn has_records<T: Record>(stored: &RawDocument) -> bool {
    // One that is damaged is to be reported.
    let has_no_items =
        || items(T::SPEC, stored).is_ok_and(|items| items.into_iter().next().is_none());
    let is_empty = || stored_count(T::SPEC, stored).is_ok_and(|count| count == 0) && has_no_items();
    !T::SPEC.form().reserves() || !is_empty()
}

/// The records of a bucket, each with the bucket's key.
///
/// ```
/// # use bucket_core::{BucketDocument, bucket};
/// fn records<B: BucketDocument>(bucket: B) -> Vec<B::Record> {
///     bucket::assemble_records(bucket)
/// }
/// ```
pub fn assemble_records<B: BucketDocument>(bucket: B) -> Vec<B::Record> {
    let parts = bucket.into_parts();
    let key = parts.key;
    parts
        .items
        .into_iter()
        .map(|item| B::Record::assemble(key.clone(), item))
        .collect()
}
