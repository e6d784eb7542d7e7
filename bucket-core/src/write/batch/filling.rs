//! Encodes a record as item bytes, and files it under its key.

use bson::DateTime;

use super::Batch;
use crate::{
    bucket::{id, record::Record},
    codec::raw::RawWriter,
    error::EncodeError,
    model::{expiry, limits::Limits, size::longest_key},
    write::{
        Chain, ElementSink, Kind, chain::push_parts, item::append_item, own_ids::OwnId, slot::Slot,
    },
};

/// An array element has a type byte, an index of up to six digits and a NUL besides its item.
const ELEMENT_BYTES: usize = 8;

/// A record that is larger than this limit; with its key, if that is the larger part.
fn too_large<T: Record>(kind: Kind, bytes: usize, key: usize, limit: usize) -> EncodeError {
    let longest = (key > bytes).then(|| longest_key(T::SPEC, kind.size(), bytes));
    match longest.flatten() {
        Some(longest) => EncodeError::TooLarge {
            bytes: bytes + key,
            limit: bytes + longest,
        },
        None => EncodeError::TooLarge { bytes, limit },
    }
}

impl Batch {
    /// Encodes a record of the batch's model, known to the caller as `index`.
    ///
    /// # Errors
    ///
    /// [`EncodeError`]; the batch is as it was before.
    pub fn push<T: Record>(&mut self, index: usize, record: &T) -> Result<(), EncodeError> {
        self.push_with(index, record, None)
    }

    /// Encodes a record whose key has these limits instead of the model's.
    ///
    /// # Errors
    ///
    /// [`EncodeError`]; the batch is as it was before.
    pub fn push_with<T: Record>(
        &mut self,
        index: usize,
        record: &T,
        limits: Option<Limits>,
    ) -> Result<(), EncodeError> {
        let time = record.time();
        // It is never stored, or was already removed, so it holds back no later record.
        expiry::refuse_expired(T::SPEC, time, self.now)?;
        let kind = match Kind::of(T::SPEC, limits, time) {
            Ok(kind) => kind,
            Err(error) => {
                self.take_key(record);
                self.lost(None);
                return Err(error);
            }
        };
        if self.holds_back(index, record, kind) {
            return Ok(());
        }
        let start = self.encoded.items.len();
        let encoded = append_item(record, time, &mut self.encoded.items, &mut self.known);
        self.take_key(record);
        let filed = encoded.and_then(|()| self.file(index, record, kind, time, start));
        if filed.is_err() {
            self.encoded.items.truncate(start);
            self.lost(Some(kind));
        }
        filed
    }

    /// Files the record whose item begins at `start`; sets it aside if its id is already in the batch.
    fn file<T: Record>(
        &mut self,
        index: usize,
        record: &T,
        kind: Kind,
        time: DateTime,
        start: usize,
    ) -> Result<(), EncodeError> {
        let item = start..self.encoded.items.len();
        let has_ids = T::SPEC.unique().is_some();
        let read = || OwnId::read(T::SPEC, &self.key, &self.encoded.items, item.clone());
        let id = has_ids.then(read).transpose()?;
        let bytes = self.check(record, kind, start)?;
        let slot = Slot {
            index,
            item,
            time,
            row: self.encoded.rows,
            bytes,
            position: self.position,
        };
        self.encoded.rows += 1;
        if let Some(id) = &id {
            self.encoded.ids.push(id.place());
            if let Some(first) = self.own_ids.first(id) {
                let items = &self.encoded.items;
                self.own_ids.set_aside(T::SPEC, &first, (kind, slot), items);
                if self.own_ids.last_is_other() {
                    self.lost(Some(kind));
                }
                return Ok(());
            }
        }
        let chain = self.chain(record, kind);
        self.chains[chain].push(slot);
        if let Some(id) = id {
            self.own_ids.add(id, index, chain);
        }
        self.records += 1;
        Ok(())
    }

    pub(in crate::write) fn take_key<T: Record>(&mut self, record: &T) {
        self.key.clear();
        let mut writer = RawWriter::over(std::mem::take(&mut self.key));
        record.visit_key(&mut ElementSink::new(T::SPEC, &mut writer));
        self.key = writer.into_bytes();
    }

    /// Takes the record's inputs; returns its size. On an error it takes nothing.
    fn check<T: Record>(
        &mut self,
        record: &T,
        kind: Kind,
        start: usize,
    ) -> Result<u64, EncodeError> {
        let inputs = &mut self.encoded.inputs;
        let before = inputs.mark();
        let names = inputs.push(T::SPEC, kind.size(), |sink| record.visit_inputs(sink))?;
        let item = self.encoded.items.len() - start;
        let size = self.size.of(T::SPEC, kind.size(), self.key.len());
        let (bytes, limit) = (item + names + size.counters, size.limit);
        if bytes > limit {
            self.encoded.inputs.go_back_to(before);
            return Err(too_large::<T>(kind, bytes, self.key.len(), limit));
        }
        Ok(u64::try_from(bytes + ELEMENT_BYTES).unwrap_or(u64::MAX))
    }

    /// The index of the chain of the record whose key was just taken.
    fn chain<T: Record>(&mut self, record: &T, kind: Kind) -> usize {
        let key = std::mem::take(&mut self.key);
        let at = self.find_or_begin(&key, kind, || id::prefix(T::SPEC, &record.key()));
        self.key = key;
        at
    }

    pub(in crate::write) fn find_or_begin(
        &mut self,
        key: &[u8],
        kind: Kind,
        prefix: impl FnOnce() -> String,
    ) -> usize {
        self.identity.clear();
        self.identity.extend_from_slice(key);
        push_parts(&mut self.identity, kind);
        if let Some(at) = self.by_identity.get(self.identity.as_slice()) {
            // It may get a record again.
            self.done = self.done.min(*at);
            return *at;
        }
        let prefix = prefix();
        self.key_bytes += 2 * key.len() + prefix.len();
        let at = self.chains.len();
        let source = self.source.as_ref();
        self.chains
            .push(Chain::new(self.spec, kind, key.to_vec(), prefix, source));
        self.by_identity.insert(self.identity.as_slice().into(), at);
        at
    }
}
