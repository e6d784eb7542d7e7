//! A record becomes item bytes, grouped by key.

use std::{collections::HashMap, marker::PhantomData, ops::Range};

use bson::DateTime;

use super::{Chain, ElementSink};
use crate::{error::EncodeError, id, item::append_item, raw::RawWriter, record::Record, size};

/// Encoded records, grouped by key in their order of arrival.
///
/// ```
/// # use bucket_core::{EncodeError, Record, write::Batch};
/// fn group<T: Record>(records: &[T]) -> Result<usize, EncodeError> {
///     let mut batch = Batch::<T>::default();
///     for (index, record) in records.iter().enumerate() {
///         batch.push(index, record)?;
///     }
///     Ok(batch.chains().len())
/// }
/// ```
#[derive(Debug)]
pub struct Batch<T> {
    items: Vec<u8>,
    records: usize,
    chains: Vec<Chain>,
    by_key: HashMap<Box<[u8]>, usize>,
    /// The key of the record that is being encoded.
    key: Vec<u8>,
    key_bytes: usize,
    /// Every command is ordered: inside a transaction the server stops at the first refusal anyway.
    in_order: bool,
    record: PhantomData<fn() -> T>,
}

/// A record in the batch.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    /// The caller's index.
    pub(super) index: usize,
    /// The item's bytes in the batch's buffer.
    pub(super) item: Range<usize>,
    pub(super) time: DateTime,
}

impl<T> Default for Batch<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            records: 0,
            chains: Vec::new(),
            by_key: HashMap::new(),
            key: Vec::new(),
            key_bytes: 0,
            in_order: false,
            record: PhantomData,
        }
    }
}

impl<T: Record> Batch<T> {
    /// Encodes a record, known to the caller as `index`.
    ///
    /// # Errors
    ///
    /// [`EncodeError`]; the batch is as it was before.
    pub fn push(&mut self, index: usize, record: &T) -> Result<(), EncodeError> {
        let time = record.time();
        let start = self.items.len();
        append_item(record, time, &mut self.items)
            .map_err(|source| EncodeError::Serialize(source.into()))?;
        self.key.clear();
        let mut writer = RawWriter::over(std::mem::take(&mut self.key));
        record.visit_key(&mut ElementSink::new(T::SPEC, &mut writer));
        self.key = writer.into_bytes();
        let bytes = self.items.len() - start;
        let limit = size::record_limit(T::SPEC, self.key.len());
        if bytes > limit {
            self.items.truncate(start);
            return Err(EncodeError::TooLarge { bytes, limit });
        }
        let slot = Slot {
            index,
            item: start..self.items.len(),
            time,
        };
        self.chain(record).push(slot);
        self.records += 1;
        Ok(())
    }

    fn chain(&mut self, record: &T) -> &mut Chain {
        let at = if let Some(at) = self.by_key.get(self.key.as_slice()) {
            *at
        } else {
            let prefix = id::prefix(T::SPEC, &record.key());
            self.key_bytes += 2 * self.key.len() + prefix.len();
            self.chains
                .push(Chain::new(T::SPEC, self.key.clone(), prefix));
            self.by_key
                .insert(self.key.as_slice().into(), self.chains.len() - 1);
            self.chains.len() - 1
        };
        &mut self.chains[at]
    }
}

impl<T> Batch<T> {
    /// The number of records.
    #[must_use]
    pub fn records(&self) -> usize {
        self.records
    }

    /// The size of the encoded items and keys, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.items.len() + self.key_bytes
    }

    /// The keys with their records, in order of first appearance.
    #[must_use]
    pub fn chains(&self) -> &[Chain] {
        &self.chains
    }

    /// Lets the only record of this batch try the bucket of this id before anything is read;
    /// nothing changes if the batch has more records.
    pub fn guess(&mut self, id: String) {
        if let ([chain], 1) = (self.chains.as_mut_slice(), self.records) {
            chain.guess(id);
        }
    }

    /// Asks for the newest bucket of each key before anything is opened; see
    /// [`Chain::look_first`].
    pub fn look_first(&mut self) {
        self.in_order = true;
        self.chains.iter_mut().for_each(Chain::look_first);
    }

    /// Gives up on every pending record. Gives their indexes.
    pub fn give_up(&mut self) -> Vec<usize> {
        self.chains.iter_mut().flat_map(Chain::give_up).collect()
    }

    /// Whether every command is to be ordered.
    pub(super) fn in_order(&self) -> bool {
        self.in_order
    }

    /// The buffer that the items lie in.
    pub(super) fn items(&self) -> &[u8] {
        &self.items
    }

    /// The chains, and the buffer that their items lie in.
    pub fn parts(&mut self) -> (&mut [Chain], &[u8]) {
        (&mut self.chains, &self.items)
    }
}
