//! A batch: the encoded records of a call, grouped by key.
//!
//! | what is done with it | file |
//! | --- | --- |
//! | encodes a record as item bytes, and files it under its key | `filling` |
//! | finds records that are too late for the newest bucket of their key | `late` |
//! | which chains are written at the moment | `front` |
//! | what a call sets on all chains, and asks them | `steering` |

mod filling;
mod front;
mod late;
mod steering;

use std::{collections::HashMap, ops::Range};

use bson::{DateTime, RawDocument};
use foldhash::fast::RandomState;

pub use self::late::SortedOut;
use super::{
    Chain, Contested, HeldBack, Holds, Source,
    command::MAX_STATEMENTS,
    newness::Newness,
    own_ids::{OwnIds, OwnRepeat},
    slot::Slot,
};
use crate::{
    bucket::record::Record,
    codec::encode::KnownNames,
    error::KeyError,
    model::{size::RecordSize, spec::BucketSpec},
    read,
    stats::contribution::Inputs,
};

/// What a chain takes without its records and its key: itself, and its entry among the keys.
const CHAIN_BYTES: usize = size_of::<Chain>() + 100;

/// What a record takes in a chain, whose queue is full by three quarters on average.
const SLOT_BYTES: usize = 4 * size_of::<Slot>() / 3;

/// With this many records of each key a statement costs not much more than its records do.
const FEW_RECORDS: usize = 128;
/// The same with this many bytes.
const FEW_BYTES: usize = 16 * 1024;

/// Returns the key of a stored bucket as BSON elements.
type StoredKey = fn(&RawDocument) -> Result<Vec<u8>, KeyError>;

/// Encoded records, grouped by the sequence of buckets that they go into, in order of arrival.
///
/// It knows its model by description, not by type, so that the code that handles encoded records is compiled
/// once for all models.
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
    /// Returns the key of a stored bucket as BSON elements, as the model's key type writes it.
    pub(super) stored_key: StoredKey,
    pub(super) encoded: Encoded,
    pub(super) records: usize,
    /// The current time, for models that use it.
    now: DateTime,
    pub(super) chains: Vec<Chain>,
    /// The front, which has the chains that are written at the moment, begins here: earlier ones have been dealt with.
    pub(super) done: usize,
    /// Where it ends.
    pub(super) front_end: usize,
    /// Chains by key as BSON and what the form adds to it.
    by_identity: HashMap<Box<[u8]>, usize, RandomState>,
    /// Names that were already checked.
    known: KnownNames,
    /// The key of the record that is being encoded.
    key: Vec<u8>,
    /// The identity of the chain that is being looked up.
    identity: Vec<u8>,
    key_bytes: usize,
    size: RecordSize,
    /// Every command is ordered: inside a transaction the server stops at the first refusal anyway.
    in_order: bool,
    /// The first refusal ends the transaction.
    pub(super) in_transaction: bool,
    /// Another writer opens buckets of the same keys.
    raced: bool,
    pub(super) newness: Newness,
    /// The most statements of a command. A refused command lowers it, to find the record to blame.
    max_statements: usize,
    source: Option<Source>,
    /// The position of the next record.
    position: i64,
    /// The records of the source that must not be sent,
    pub(super) holds: Holds,
    /// and those that were not.
    pub(super) held_back: Vec<HeldBack>,
    /// The record ids, if the model has them.
    pub(super) own_ids: OwnIds,
    /// The records whose id another record has, if they are kept.
    pub(super) contested: Option<Vec<Contested>>,
}

/// The encoded records of a batch.
#[derive(Debug, Default)]
pub(super) struct Encoded {
    pub(super) items: Vec<u8>,
    /// The number of encoded records, including those set aside.
    pub(super) rows: usize,
    /// The values that have aggregates.
    pub(super) inputs: Inputs,
    /// By row: the range of each record's id among the items, as an element. Empty if the model has no ids.
    pub(super) ids: Vec<Range<usize>>,
}

impl Encoded {
    /// The id of a record as an element of BSON, if the model has ids.
    pub(super) fn id(&self, slot: &Slot) -> Option<&[u8]> {
        self.items.get(self.ids.get(slot.row)?.clone())
    }
}

impl Batch {
    /// Makes an empty batch for records of this model.
    #[must_use]
    pub fn of<T: Record>() -> Self {
        Self::empty(T::SPEC, read::stored_key::<T>)
    }

    /// Takes this batch, and leaves an empty one of the same model.
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
            done: 0,
            front_end: usize::MAX,
            by_identity: HashMap::default(),
            known: KnownNames::default(),
            key: Vec::new(),
            identity: Vec::new(),
            key_bytes: 0,
            size: RecordSize::default(),
            in_order: false,
            in_transaction: false,
            raced: false,
            newness: Newness::default(),
            max_statements: MAX_STATEMENTS,
            source: None,
            position: 0,
            holds: Holds::default(),
            held_back: Vec::new(),
            own_ids: OwnIds::default(),
            contested: None,
        }
    }

    /// The model.
    #[must_use]
    pub fn spec(&self) -> &'static BucketSpec {
        self.spec
    }

    /// The number of records.
    #[must_use]
    pub fn records(&self) -> usize {
        self.records
    }

    /// The size of the encoded items and keys, and of what is kept for record ids, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.encoded.items.len() + self.key_bytes + self.own_ids.bytes()
    }

    /// About how many bytes of memory it takes. With few records for each key that is far more than
    /// [their size](Self::bytes).
    #[must_use]
    pub fn memory(&self) -> usize {
        self.bytes() + self.encoded.rows * SLOT_BYTES + self.chains.len() * CHAIN_BYTES
    }

    /// Whether records that come next probably share statements with those that it has: there are few of each key, and
    /// keys come again.
    #[must_use]
    pub fn gains_by_more(&self) -> bool {
        let (chains, records) = (self.chains.len(), self.encoded.rows);
        let are_few = records < FEW_RECORDS * chains && self.bytes() < FEW_BYTES * chains;
        records >= chains + chains / 8 && are_few
    }

    /// Sets the source that the records come from. Each record is at the position that is set before it is
    /// pushed; positions must rise.
    pub fn set_source(&mut self, source: Source) {
        self.source = Some(source);
    }

    /// The source, if the records come from one.
    #[must_use]
    pub fn source(&self) -> Option<&Source> {
        self.source.as_ref()
    }

    /// Sets the position of the next record in its source; see [`Source::position`].
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

    /// Sets the current time. The batch refuses records that have expired by then, and buckets store it if
    /// the model asks for that.
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

    /// The records that were set aside because an earlier one of the batch has their key and id. Their
    /// relation to that one is certain once nothing of the batch is pending.
    #[must_use]
    pub fn own_repeats(&self) -> &[OwnRepeat] {
        &self.own_ids.repeats
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
