//! Typed buckets: from stored bytes to the derived struct, and back.

pub(crate) mod archived;
pub(crate) mod bucket_fields;
pub(crate) mod edits;
mod head;
pub(crate) mod header;
pub mod id;
mod items;
mod key_fields;
pub(crate) mod merged;
pub(crate) mod packed;
pub mod record;
mod rows;
pub(crate) mod sealed;
mod selected;
mod shared;
mod stored;
mod typed;

use bson::RawDocument;

use self::record::Record;
pub use self::{
    bucket_fields::BucketFields,
    record::{BucketDocument, BucketParts, BucketRef},
    rows::BucketRows,
    stored::{deserialize_bucket, serialize_bucket},
    typed::{decode, decode_within},
};
pub(crate) use self::{
    head::{
        Head, bson_damage, check_id, date_field, field, head, place_alone, stored_count,
        stored_fields, stored_place, whole_field, window_alone, wrong_field,
    },
    items::{ItemReader, item_time, items},
    key_fields::{ElementSink, StoredKey, key_of},
    packed::each_packed,
    sealed::{unsealed, with_items},
    shared::{SplitItem, has_exact_equality, write_all},
};

/// Whether a stored bucket has records. In the manual's form, the newest bucket of a key may be
/// empty for a moment, while full buckets are stored before it. Reads skip such a bucket.
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
    // A damaged bucket must be reported.
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
