//! Records on their way through a call, grouped by key: what a batch holds.
//!
//! | what is done with it | file |
//! | --- | --- |
//! | a record becomes item bytes, and is filed under its key | `filling` |
//! | which records come too late for the newest bucket of their key | `late` |
//! | what a call tells all chains, and asks of them | `steering` |

mod filling;
mod late;
mod steering;

use std::{collections::HashMap, ops::Range};

use bson::{DateTime, RawDocument};
use foldhash::fast::RandomState;

pub use self::late::SortedOut;
use super::{
    Chain, HeldBack, Holds, Source,
    command::MAX_STATEMENTS,
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
    /// The number of encoded records, of those as well that were set aside.
    pub(super) rows: usize,
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

    /// The encoded records.
    pub(super) fn encoded(&self) -> &Encoded {
        &self.encoded
    }

    /// The sequences of buckets with their records.
    pub fn chains_mut(&mut self) -> &mut [Chain] {
        &mut self.chains
    }
}
