//! A record becomes item bytes, grouped by key.

use std::{collections::HashMap, ops::Range};

use bson::{DateTime, RawDocument};
use foldhash::fast::RandomState;

use super::{
    Chain, ElementSink, HeldBack, Holds, Kind, Recollection, Source,
    chain::push_parts,
    command::MAX_STATEMENTS,
    item::append_item,
    own_ids::{OwnId, OwnIds, OwnRepeat},
    slot::Slot,
};
use crate::{
    bucket::{id, record::Record},
    codec::{encode::KnownNames, raw::RawWriter},
    error::{EncodeError, KeyError},
    model::{expiry, limits::Limits, size::RecordSize, spec::BucketSpec},
    read,
    stats::contribution::Inputs,
};

/// An array element has a type byte, an index of up to six digits and a NUL besides its item.
const ELEMENT_BYTES: usize = 8;

/// Gives the key of a stored bucket as elements of BSON.
type StoredKey = fn(&RawDocument) -> Result<Vec<u8>, KeyError>;

/// Encoded records, grouped by the sequence of buckets that they go into, in their order of
/// arrival.
///
/// It knows its model by what the model is described by, not by its type: what is done with records
/// once they are encoded is compiled once for all models.
///
/// ```
/// # use bucket_core::{EncodeError, Record, write::Batch};
/// fn group<T: Record>(records: &[T]) -> Result<usize, EncodeError> {
///     let mut batch = Batch::of::<T>();
///     for (index, record) in records.iter().enumerate() {
///         batch.push(index, record)?;
///     }
///     Ok(batch.chains().len())
/// }
/// ```
#[derive(Debug)]
pub struct Batch {
    pub(super) spec: &'static BucketSpec,
    /// The key of a stored bucket, as elements of BSON: as the model's key type would write it.
    pub(super) stored_key: StoredKey,
    pub(super) encoded: Encoded,
    pub(super) records: usize,
    /// The time by the clock, for models that keep it.
    now: DateTime,
    pub(super) chains: Vec<Chain>,
    /// By key as BSON and what the form adds to it.
    by_identity: HashMap<Box<[u8]>, usize, RandomState>,
    /// Names that were checked.
    known: KnownNames,
    /// The key of the record that is being encoded.
    key: Vec<u8>,
    /// What the chain that is looked for is found by.
    identity: Vec<u8>,
    key_bytes: usize,
    size: RecordSize,
    /// Every command is ordered: inside a transaction the server stops at the first refusal anyway.
    in_order: bool,
    /// Another writer opens buckets of the same keys.
    raced: bool,
    /// The most statements of a command: lowered when the server refuses a whole one, to find the record to
    /// blame.
    max_statements: usize,
    source: Option<Source>,
    /// The position of the next record.
    position: i64,
    /// Which records of the source are not to be sent,
    pub(super) holds: Holds,
    /// and which were not.
    pub(super) held_back: Vec<HeldBack>,
    /// The record ids, where the model has them.
    pub(super) own_ids: OwnIds,
}

/// The encoded records of a batch.
#[derive(Debug, Default)]
pub(super) struct Encoded {
    pub(super) items: Vec<u8>,
    /// The values that aggregates are kept of.
    pub(super) inputs: Inputs,
    /// By row: the place among the items of each record's id, as an element. Empty where the model
    /// has none.
    pub(super) ids: Vec<Range<usize>>,
}

impl Encoded {
    /// The id of a record as an element of BSON, where the model has ids.
    pub(super) fn id(&self, slot: &Slot) -> Option<&[u8]> {
        self.items.get(self.ids.get(slot.row)?.clone())
    }
}

impl Batch {
    /// An empty batch for records of this model.
    #[must_use]
    pub fn of<T: Record>() -> Self {
        Self::empty(T::SPEC, read::stored_key::<T>)
    }

    /// This batch; an empty one of the same model takes its place.
    #[must_use]
    pub fn take(&mut self) -> Self {
        let empty = Self::empty(self.spec, self.stored_key);
        std::mem::replace(self, empty)
    }

    fn empty(spec: &'static BucketSpec, stored_key: StoredKey) -> Self {
        Self {
            spec,
            stored_key,
            encoded: Encoded::default(),
            records: 0,
            now: DateTime::MIN,
            chains: Vec::new(),
            by_identity: HashMap::default(),
            known: KnownNames::default(),
            key: Vec::new(),
            identity: Vec::new(),
            key_bytes: 0,
            size: RecordSize::default(),
            in_order: false,
            raced: false,
            max_statements: MAX_STATEMENTS,
            source: None,
            position: 0,
            holds: Holds::default(),
            held_back: Vec::new(),
            own_ids: OwnIds::default(),
        }
    }

    /// The model.
    #[must_use]
    pub fn spec(&self) -> &'static BucketSpec {
        self.spec
    }

    /// Encodes a record of the batch's model, known to the caller as `index`.
    ///
    /// # Errors
    ///
    /// [`EncodeError`]; the batch is as it was before.
    pub fn push<T: Record>(&mut self, index: usize, record: &T) -> Result<(), EncodeError> {
        self.push_with(index, record, None)
    }

    /// Encodes a record whose key has these limits in place of the model's.
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
        // It is never stored, and may have been removed already: no later record waits for it.
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
        if !matches!(filed, Ok(true)) {
            self.encoded.items.truncate(start);
        }
        if filed.is_err() {
            self.lost(Some(kind));
        }
        filed.map(drop)
    }

    /// Files the record whose item begins at `start`; not if its id is in the batch already.
    fn file<T: Record>(
        &mut self,
        index: usize,
        record: &T,
        kind: Kind,
        time: DateTime,
        start: usize,
    ) -> Result<bool, EncodeError> {
        let item = start..self.encoded.items.len();
        let mut id = None;
        if T::SPEC.unique().is_some() {
            let items = &self.encoded.items;
            let own = OwnId::read(T::SPEC, &self.key, items, item.clone())?;
            if self.own_ids.sets_aside(T::SPEC, &own, index, items) {
                if self.own_ids.last_is_other() {
                    self.lost(Some(kind));
                }
                return Ok(false);
            }
            id = Some(own);
        }
        let bytes = self.check(record, kind, start)?;
        if let Some(id) = id {
            self.encoded.ids.push(id.place());
            self.own_ids.add(id, index);
        }
        let slot = Slot {
            index,
            item,
            time,
            row: self.records,
            bytes,
            position: self.position,
        };
        self.chain(record, kind).push(slot);
        self.records += 1;
        Ok(true)
    }

    pub(super) fn take_key<T: Record>(&mut self, record: &T) {
        self.key.clear();
        let mut writer = RawWriter::over(std::mem::take(&mut self.key));
        record.visit_key(&mut ElementSink::new(T::SPEC, &mut writer));
        self.key = writer.into_bytes();
    }

    /// Takes the record's inputs; gives its size. On an error nothing is taken.
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
            return Err(EncodeError::TooLarge { bytes, limit });
        }
        Ok(u64::try_from(bytes + ELEMENT_BYTES).unwrap_or(u64::MAX))
    }

    /// The chain of the record whose key was just taken.
    fn chain<T: Record>(&mut self, record: &T, kind: Kind) -> &mut Chain {
        let key = std::mem::take(&mut self.key);
        let at = self.find_or_begin(&key, kind, || id::prefix(T::SPEC, &record.key()));
        self.key = key;
        &mut self.chains[at]
    }

    pub(super) fn find_or_begin(
        &mut self,
        key: &[u8],
        kind: Kind,
        prefix: impl FnOnce() -> String,
    ) -> usize {
        self.identity.clear();
        self.identity.extend_from_slice(key);
        push_parts(&mut self.identity, kind);
        if let Some(at) = self.by_identity.get(self.identity.as_slice()) {
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

    /// Puts the records of forms that go by time in order, and sets late ones aside: into chains
    /// of their own, or, where the model refuses them, into the result. It is to be called after
    /// each look at the newest buckets.
    #[must_use]
    pub fn sort_out_late(&mut self) -> SortedOut {
        let mut sorted_out = SortedOut::default();
        for at in 0..self.chains.len() {
            let chain = &mut self.chains[at];
            chain.sort();
            let Some(in_time) = chain.kind().in_time() else {
                continue;
            };
            let start = chain.newest_start();
            let late = chain.take_late();
            let (Some(start), false) = (start, late.is_empty()) else {
                continue;
            };
            let (key, prefix) = (chain.key().to_vec(), chain.prefix().to_owned());
            for slot in late {
                let time = slot.time;
                if in_time.refuses_late() {
                    let refused = EncodeError::Late { time, start };
                    sorted_out.refused.push((slot.index, refused));
                    continue;
                }
                sorted_out.moved += 1;
                let at = self.find_or_begin(&key, in_time.late(time), || prefix.clone());
                self.chains[at].push(slot);
            }
        }
        sorted_out
    }
}

/// What became of late records; see [`Batch::sort_out_late`].
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct SortedOut {
    /// The number of records that go into other buckets than those looked at.
    pub moved: usize,
    /// The records that the model refuses.
    pub refused: Vec<(usize, EncodeError)>,
}

impl Batch {
    /// The number of records.
    #[must_use]
    pub fn records(&self) -> usize {
        self.records
    }

    /// The size of the encoded items and keys, in bytes, and what is kept of record ids.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.encoded.items.len() + self.key_bytes + self.own_ids.bytes()
    }

    /// Records come from this source, each at the position that is set before it is pushed. Positions
    /// must rise.
    pub fn set_source(&mut self, source: Source) {
        self.source = Some(source);
    }

    /// The source, if the records come from one.
    #[must_use]
    pub fn source(&self) -> Option<&Source> {
        self.source.as_ref()
    }

    /// The position of the next record in its source; see [`Source::position`].
    pub fn set_position(&mut self, position: i64) {
        self.position = position;
    }

    pub(super) fn position(&self) -> i64 {
        self.position
    }

    /// The key of the record that is being pushed.
    pub(super) fn taken_key(&self) -> &[u8] {
        &self.key
    }

    /// The time by the clock: records that the model keeps no longer are refused by it, and buckets
    /// have it where the model asks for it.
    pub fn set_now(&mut self, now: DateTime) {
        self.now = now;
    }

    pub(super) fn now(&self) -> DateTime {
        self.now
    }

    /// The sequences of buckets with their records, in order of first appearance.
    #[must_use]
    pub fn chains(&self) -> &[Chain] {
        &self.chains
    }

    /// The records that were set aside because an earlier one of the batch has their key and id. How
    /// they stand to it is certain once nothing of the batch is pending.
    #[must_use]
    pub fn own_repeats(&self) -> &[OwnRepeat] {
        &self.own_ids.repeats
    }

    /// Lets a lone record try the bucket of this id before anything is read.
    pub fn guess(&mut self, id: impl Fn(&Chain) -> Option<String>) {
        if self.records != 1 {
            return;
        }
        for chain in &mut self.chains {
            if let Some(id) = id(chain) {
                chain.guess(id);
            }
        }
    }

    /// Lets chains go by what an earlier batch of the same source has left, before anything is read.
    pub fn recall(&mut self, mut earlier: impl FnMut(&Chain) -> Option<Recollection>) {
        let lone = self.records == 1;
        for chain in &mut self.chains {
            if let Some(earlier) = earlier(chain) {
                chain.recall(&earlier, lone);
            }
        }
    }

    /// Asks for the newest bucket of each key before anything is opened; see
    /// [`Chain::look_first`].
    pub fn look_first(&mut self) {
        self.in_order = true;
        self.chains.iter_mut().for_each(Chain::look_first);
    }

    /// The indexes of the records that are not settled yet, and of those that were set aside for an
    /// earlier one.
    #[must_use]
    pub fn indexes(&self) -> Vec<usize> {
        let pending = self.chains.iter().flat_map(Chain::indexes);
        let repeats = self.own_repeats().iter().map(|repeat| repeat.index);
        pending.chain(repeats).collect()
    }

    /// Buckets without records that others have reserved are taken over at once.
    pub fn wait_for_nobody(&mut self) {
        self.chains.iter_mut().for_each(Chain::wait_for_nobody);
    }

    /// A pause is over that was as long as chains need [`Patience`](super::Need::Patience).
    pub fn waited(&mut self) {
        let patient = |chain: &&mut Chain| chain.need() == super::Need::Patience;
        self.chains
            .iter_mut()
            .filter(patient)
            .for_each(Chain::waited);
    }

    /// Gives up on every pending record. Gives their indexes.
    pub fn give_up(&mut self) -> Vec<usize> {
        self.chains.iter_mut().flat_map(Chain::give_up).collect()
    }

    /// Takes out the records whose index is one of these, as long as they are not settled: nothing of them
    /// was sent, or all that was sent was refused. Gives their indexes.
    ///
    /// ```
    /// # use bucket_core::write::Batch;
    /// fn keep_the_first(batch: &mut Batch) -> usize {
    ///     batch.withdraw(|index| index > 0).len()
    /// }
    /// ```
    pub fn withdraw(&mut self, is_gone: impl Fn(usize) -> bool) -> Vec<usize> {
        let chains = self.chains.iter_mut();
        chains.flat_map(|chain| chain.withdraw(&is_gone)).collect()
    }

    /// The most statements of a command.
    pub(super) fn max_statements(&self) -> usize {
        self.max_statements
    }

    pub(super) fn set_max_statements(&mut self, statements: usize) {
        self.max_statements = statements.clamp(1, MAX_STATEMENTS);
    }

    /// Whether every command is to be ordered.
    pub(super) fn in_order(&self) -> bool {
        self.in_order
    }

    /// Whether an opening of another writer has stopped a command of this batch.
    pub(super) fn is_raced(&self) -> bool {
        self.raced
    }

    pub(super) fn set_raced(&mut self) {
        self.raced = true;
    }

    /// The encoded records.
    pub(super) fn encoded(&self) -> &Encoded {
        &self.encoded
    }

    /// The sequences of buckets with their records.
    pub fn chains_mut(&mut self) -> &mut [Chain] {
        &mut self.chains
    }
}
