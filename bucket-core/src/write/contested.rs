//! Records that were not stored because the key has another record of their id, or may have one, kept as they were
//! encoded.
//!
//! A call that replaces takes them up after its batch, one after the other. A batch keeps only bytes, and the
//! caller's records are gone by then, so such a record is read back as reads would give it.

use bson::{RawDocument, RawDocumentBuf};

use super::{Chain, own_ids::document, slot::Slot};
use crate::{
    bucket::{self, ItemReader, key_of, record::Record},
    codec::raw::RawWriter,
    error::{Damage, DamagedBucket},
    model::spec::BucketSpec,
};

/// A record that was not stored because the key has another record of its id.
///
/// ```
/// # use bucket_core::{DamagedBucket, Record, write::Contested};
/// fn as_a_read_gives_it<T: Record>(contested: &Contested) -> Result<T, DamagedBucket> {
///     contested.record()
/// }
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Contested {
    /// The caller's index of the record.
    pub index: usize,
    /// The key fields as BSON elements.
    key: Box<[u8]>,
    /// The key fields, and the item by itself in the array.
    bucket: RawDocumentBuf,
}

impl Contested {
    pub(super) fn new(spec: &BucketSpec, chain: &Chain, slot: &Slot, items: &[u8]) -> Option<Self> {
        let item = document(items, slot.item.clone())?;
        Some(Self {
            index: slot.index,
            key: chain.key().into(),
            bucket: bucket_of(spec, chain.key(), item),
        })
    }

    /// The key as BSON elements: records with the same key depend on each other.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// The record as a read would give it.
    ///
    /// # Errors
    ///
    /// [`DamagedBucket`] if what its `Serialize` writes is not what its `Deserialize` reads.
    pub fn record<T: Record>(&self) -> Result<T, DamagedBucket> {
        self.read().map_err(|damage| {
            let id = "a record that is not stored yet".to_owned();
            DamagedBucket::new(id, damage)
        })
    }

    fn read<T: Record>(&self) -> Result<T, Damage> {
        let items = bucket::items(T::SPEC, &self.bucket)?;
        let reader = ItemReader::new(T::SPEC, &self.bucket)?;
        let first = items.into_iter().next();
        let missing = || bucket::wrong_field(T::SPEC.items(), "an array with an item");
        let item = first.ok_or_else(missing)?.map_err(bucket::bson_damage)?;
        Ok(T::assemble(
            key_of::<T>(&self.bucket)?,
            reader.decode(0, item)?,
        ))
    }
}

/// The parts of a bucket that a read of its one record needs.
fn bucket_of(spec: &BucketSpec, key: &[u8], item: &RawDocument) -> RawDocumentBuf {
    RawWriter::build(|writer| {
        writer.elements(key);
        let items = writer.begin_array(spec.items());
        writer.element(0, item.as_bytes());
        writer.end(items);
    })
}
