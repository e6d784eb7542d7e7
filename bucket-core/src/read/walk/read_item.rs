//! The result for one item: a record, or the requested fields.

use bson::{RawBsonRef, RawDocument, RawDocumentBuf};
use serde::de::DeserializeOwned;

use crate::{
    bucket::{self, ItemReader, id::BucketId, record::Record},
    codec::raw::RawWriter,
    error::Damage,
    model::spec::ID,
    read::{InBucket, ReadKey, RecordRef, Referenced},
};

/// Reads an item at its index in the array: its time, in milliseconds, and the requested part of
/// it.
pub(super) type Decode<T, R> =
    fn(&<T as Record>::Key, &ItemReader<'_>, usize, RawBsonRef<'_>) -> Result<(i64, R), Damage>;

/// An item, preceded by the fields of its key.
pub(super) fn with_key(item: &RawDocument, key: &RawDocument) -> RawDocumentBuf {
    RawWriter::build(|writer| {
        for document in [key, item] {
            let bytes = document.as_bytes();
            // Between the length and the final NUL.
            writer.elements(bytes.get(4..bytes.len() - 1).unwrap_or_default());
        }
    })
}

pub(super) fn record<T: Record>(
    key: &T::Key,
    reader: &ItemReader<'_>,
    index: usize,
    item: RawBsonRef<'_>,
) -> Result<(i64, T), Damage> {
    let record = T::assemble(key.clone(), reader.decode(index, item)?);
    Ok((record.time().timestamp_millis(), record))
}

pub(super) fn selected<T: Record, P: DeserializeOwned>(
    _: &T::Key,
    reader: &ItemReader<'_>,
    index: usize,
    item: RawBsonRef<'_>,
) -> Result<(i64, P), Damage> {
    let fields = reader.decode(index, item)?;
    let time = bucket::item_time(T::SPEC, index, item)?;
    Ok((time.timestamp_millis(), fields))
}

pub(super) fn in_bucket<T: Record>(
    key: &T::Key,
    reader: &ItemReader<'_>,
    index: usize,
    item: RawBsonRef<'_>,
) -> Result<(i64, InBucket<T>), Damage> {
    let (time, record) = record::<T>(key, reader, index, item)?;
    let bucket = BucketId::of_stored(reader.id()?)
        .ok_or_else(|| bucket::wrong_field(ID, "an id of the model"))?;
    // A document has at most 16 MB.
    let index = u32::try_from(index).unwrap_or(u32::MAX);
    Ok((
        time,
        InBucket {
            bucket,
            index,
            record,
        },
    ))
}

pub(super) fn referenced<T: Record>(
    key: &T::Key,
    reader: &ItemReader<'_>,
    index: usize,
    item: RawBsonRef<'_>,
) -> Result<(i64, Referenced<T>), Damage> {
    let (time, record) = record::<T>(key, reader, index, item)?;
    let (Some(place), RawBsonRef::Document(item)) = (reader.place(), item) else {
        return Err(bucket::wrong_field(
            T::SPEC.items(),
            "an array of documents",
        ));
    };
    let reference = RecordRef::new::<T>(&ReadKey::of::<T>(key), place, index, item, reader);
    Ok((time, Referenced { reference, record }))
}
