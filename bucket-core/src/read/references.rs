//! The records of one stored bucket, each with a reference.

use bson::RawDocument;

use super::{ReadKey, RecordRef, Referenced};
use crate::{
    bucket::{self, ItemReader, id, record::Record},
    codec::raw::printed_id,
    error::{Damage, DamagedBucket},
    time::range::TimeRange,
};

/// The records of a bucket whose time is in the range, in the order of its items, each with a reference.
///
/// # Errors
///
/// The errors of [`decode_within`](crate::bucket::decode_within), and one for an id of another key.
///
/// ```
/// # use bson::RawDocument;
/// # use bucket_core::{DamagedBucket, Record, Referenced, TimeRange, read};
/// fn all<T: Record>(stored: &RawDocument) -> Result<Vec<Referenced<T>>, DamagedBucket> {
///     read::references(stored, TimeRange::ALL)
/// }
/// ```
pub fn references<T: Record>(
    stored: &RawDocument,
    range: TimeRange,
) -> Result<Vec<Referenced<T>>, DamagedBucket> {
    within(stored, range).map_err(|damage| DamagedBucket::new(printed_id(stored), damage))
}

fn within<T: Record>(stored: &RawDocument, range: TimeRange) -> Result<Vec<Referenced<T>>, Damage> {
    let spec = T::SPEC;
    let stored = &*bucket::unsealed(spec, stored)?;
    let head = bucket::head(spec, stored)?;
    let key = bucket::key_of::<T>(stored)?;
    bucket::check_id(spec, stored, &id::prefix(spec, &key))?;
    let of_key = ReadKey::of::<T>(&key);
    let reader = ItemReader::new(spec, stored)?.at(head.place);
    let mut inside = Vec::with_capacity(head.capacity(spec));
    let mut number = 0;
    for (index, item) in bucket::items(spec, stored)?.into_iter().enumerate() {
        let item = item.map_err(bucket::bson_damage)?;
        number = index + 1;
        if reader.is_removed(item) || !range.contains(bucket::item_time(spec, index, item)?) {
            continue;
        }
        let record = T::assemble(key.clone(), reader.decode(index, item)?);
        let reference = item
            .as_document()
            .and_then(|item| RecordRef::new::<T>(&of_key, index, item, &reader));
        if let Some(reference) = reference {
            inside.push(Referenced { reference, record });
        }
    }
    head.check_count(number)?;
    Ok(inside)
}
