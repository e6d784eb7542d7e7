//! The result for one item: a record, or the requested fields.

use bson::{RawBsonRef, RawDocument, RawDocumentBuf};
use serde::de::DeserializeOwned;

use crate::{
    bucket::{
        self, ItemReader,
        id::{self, BucketId},
        packed::PackedItems,
        record::Record,
    },
    codec::raw::RawWriter,
    error::Damage,
    model::spec::ID,
    read::{InBucket, ReadKey, RecordRef, Referenced},
};

/// Reads items.
#[derive(Debug)]
pub(super) struct Decode<T: Record, R> {
    /// One at its index in the array: its time, in milliseconds, and the requested part of it.
    pub(super) stored: DecodeStored<T, R>,
    /// The next of packed ones, which is passed, if it need not be put together.
    pub(super) packed: DecodePacked<T, R>,
}

type DecodeStored<T, R> =
    fn(&<T as Record>::Key, &ItemReader<'_>, usize, RawBsonRef<'_>) -> Result<(i64, R), Damage>;

type DecodePacked<T, R> = fn(
    &<T as Record>::Key,
    &ItemReader<'_>,
    usize,
    &mut PackedItems<'_>,
) -> Option<Result<(i64, R), Damage>>;

/// Gives records.
pub(super) const fn records<T: Record>() -> Decode<T, T> {
    Decode {
        stored: record::<T>,
        packed: packed_record::<T>,
    }
}

impl<T: Record, R> Decode<T, R> {
    /// Needs the whole item.
    pub(super) const fn of_stored(stored: DecodeStored<T, R>) -> Self {
        Self {
            stored,
            packed: |_, _, _, _| None,
        }
    }
}

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

fn record<T: Record>(
    key: &T::Key,
    reader: &ItemReader<'_>,
    index: usize,
    item: RawBsonRef<'_>,
) -> Result<(i64, T), Damage> {
    let record = T::assemble(key.clone(), reader.decode(index, item)?);
    Ok((record.time().timestamp_millis(), record))
}

fn packed_record<T: Record>(
    key: &T::Key,
    reader: &ItemReader<'_>,
    index: usize,
    items: &mut PackedItems<'_>,
) -> Option<Result<(i64, T), Damage>> {
    let item = reader.decode_packed(index, items)?;
    Some(item.map(|item| {
        let record = T::assemble(key.clone(), item);
        (record.time().timestamp_millis(), record)
    }))
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
    let beyond = || bucket::wrong_field(T::SPEC.items(), "the items that its count says");
    let (place, index) = reader.place_of(index).ok_or_else(beyond)?;
    let bucket = if reader.origins().is_some() {
        let mut id = id::prefix(T::SPEC, key);
        id::push_place(&mut id, place, T::SPEC.id_unit());
        BucketId::of_stored(RawBsonRef::String(&id))
    } else {
        BucketId::of_stored(reader.id()?)
    };
    let bucket = bucket.ok_or_else(|| bucket::wrong_field(ID, "an id of the model"))?;
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
    let reference = item
        .as_document()
        .and_then(|item| RecordRef::new::<T>(&ReadKey::of::<T>(key), index, item, reader));
    let reference =
        reference.ok_or_else(|| bucket::wrong_field(T::SPEC.items(), "an array of documents"))?;
    Ok((time, Referenced { reference, record }))
}
