//! From a stored document to a typed bucket.

use bson::{RawBsonRef, RawDocument};

use super::{
    BucketDocument, BucketParts,
    head::{bson_damage, field, head, wrong_field, wrong_id},
    id::BucketId,
    items::{ItemReader, item_time, items},
    key_fields::key_of,
    record::Record,
    sealed::unsealed,
};
use crate::{
    codec::raw::printed_id,
    error::{Damage, DamagedBucket},
    model::spec::ID,
    stats::StoredStats,
    time::range::TimeRange,
};

/// Reads a stored document as a bucket.
///
/// # Errors
///
/// [`DamagedBucket`] if a field is missing or has another type, if the count is not the length of
/// the array, or if an item does not decode as the record's type.
///
/// ```
/// # use bucket_core::{DamagedBucket, Record, bucket};
/// fn read<T: Record>(stored: &bson::RawDocument) -> Result<T::Bucket, DamagedBucket> {
///     bucket::decode::<T>(stored)
/// }
/// ```
pub fn decode<T: Record>(stored: &RawDocument) -> Result<T::Bucket, DamagedBucket> {
    decode_within::<T>(stored, TimeRange::ALL)
}

/// Reads a stored document as a bucket with only the items whose time is in the range; its count is
/// their number. Its aggregates are as stored: they cover all items.
///
/// # Errors
///
/// The errors of [`decode`]. Of items outside the range, only the time is checked.
///
/// ```
/// # use bson::{DateTime, RawDocument};
/// # use bucket_core::{DamagedBucket, IntoTimeRange, Record, bucket};
/// fn since<T: Record>(stored: &RawDocument, start: DateTime) -> Result<T::Bucket, DamagedBucket> {
///     bucket::decode_within::<T>(stored, (start..).into_time_range())
/// }
/// ```
pub fn decode_within<T: Record>(
    stored: &RawDocument,
    range: TimeRange,
) -> Result<T::Bucket, DamagedBucket> {
    match decode_parts::<T>(stored, range) {
        Ok(parts) => Ok(T::Bucket::from_parts(parts)),
        Err(damage) => Err(DamagedBucket::new(printed_id(stored), damage)),
    }
}

fn decode_parts<T: Record>(
    stored: &RawDocument,
    range: TimeRange,
) -> Result<BucketParts<T>, Damage> {
    let spec = T::SPEC;
    let stored = &*unsealed(spec, stored)?;
    let head = head(spec, stored)?;
    let id = match (field(stored, ID)?, spec.object_ids()) {
        (Some(RawBsonRef::ObjectId(id)), true) => BucketId::of_object(id, head.place),
        (_, true) => return Err(wrong_field(ID, "an object id")),
        (Some(RawBsonRef::String(text)), false) => {
            text.parse().map_err(|error| wrong_id(&error))?
        }
        (_, false) => return Err(wrong_field(ID, "a string")),
    };
    let key = key_of::<T>(stored)?;
    let reader = ItemReader::new(spec, stored)?;
    let mut inside = Vec::with_capacity(head.capacity(spec));
    let mut number = 0;
    for (index, item) in items(spec, stored)?.into_iter().enumerate() {
        let item = item.map_err(bson_damage)?;
        number = index + 1;
        if reader.is_removed(item) {
            continue;
        }
        if range == TimeRange::ALL || range.contains(item_time(spec, index, item)?) {
            inside.push(reader.decode(index, item)?);
        }
    }
    let count = head.check_count(number)?;
    Ok(BucketParts {
        id,
        key,
        count: u32::try_from(inside.len()).unwrap_or(count),
        fields: head.fields,
        stats: StoredStats::read(spec, stored, reader.edits().left_of(count))?,
        items: inside,
    })
}
