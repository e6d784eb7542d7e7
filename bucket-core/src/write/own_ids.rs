//! The record ids in a batch: a repeated id never gets into two statements.

use std::{borrow::Cow, collections::HashMap, ops::Range};

use bson::RawDocument;
use foldhash::fast::RandomState;

use super::{Kind, equality, record_id, slot::Slot};
use crate::{error::EncodeError, model::spec::BucketSpec};

/// What an entry takes besides the key and the id, in bytes.
const ENTRY_BYTES: usize = 128;

/// A record with the key and the id of an earlier one of its batch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OwnRepeat {
    /// The caller's index of the record.
    pub index: usize,
    /// The caller's index of the first record with the id.
    pub first: usize,
    /// How it relates to the first one.
    pub repetition: Repetition,
    pub(super) record: SetAside,
}

/// What is needed to send a record after all that was set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SetAside {
    /// The chain of the first one, which has the key.
    pub(super) chain: usize,
    /// The buckets of the key that it goes into.
    pub(super) kind: Kind,
    pub(super) slot: Slot,
}

/// How a record relates to an earlier one of its batch with the same key and id.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repetition {
    /// It is the same: it has the outcome of the first one.
    Same,
    /// It has other data.
    Other {
        /// The id as text.
        id: String,
    },
    /// It has other data, and exactly those are already stored: the first one is the conflict.
    Stored,
}

/// The ids in a batch.
#[derive(Debug, Default)]
pub(super) struct OwnIds {
    /// The first record of each key and id.
    pub(super) first: HashMap<Box<[u8]>, First, RandomState>,
    pub(super) repeats: Vec<OwnRepeat>,
    bytes: usize,
}

/// The first record of an id.
#[derive(Debug, Clone)]
pub(super) struct First {
    index: usize,
    /// Its item in the batch's buffer.
    item: Range<usize>,
    /// Its chain.
    pub(super) chain: usize,
}

/// The id of a record that is about to be filed.
#[derive(Debug)]
pub(super) struct OwnId {
    /// The key, which shows where it ends, and the part that equal ids have in common.
    identity: Vec<u8>,
    /// The item in the batch's buffer,
    item: Range<usize>,
    /// and the element of the id in it.
    place: Range<usize>,
}

impl OwnId {
    /// Reads the id of an item in the batch's buffer.
    pub(super) fn read(
        spec: &BucketSpec,
        key: &[u8],
        items: &[u8],
        item: Range<usize>,
    ) -> Result<Self, EncodeError> {
        let own = items.get(item.clone()).unwrap_or_default();
        let (place, id) = record_id::read(spec, own)?;
        Ok(Self {
            identity: [key, &id].concat(),
            place: item.start + place.start..item.start + place.end,
            item,
        })
    }

    pub(super) fn place(&self) -> Range<usize> {
        self.place.clone()
    }
}

impl OwnIds {
    /// The earlier record that has this key and id.
    pub(super) fn first(&self, id: &OwnId) -> Option<First> {
        self.first.get(id.identity.as_slice()).cloned()
    }

    pub(super) fn add(&mut self, id: OwnId, index: usize, chain: usize) {
        self.bytes += id.identity.len() + ENTRY_BYTES;
        let item = id.item;
        let first = First { index, item, chain };
        self.first.insert(id.identity.into(), first);
    }

    /// Sets a record aside that has the key and the id of the first one.
    pub(super) fn set_aside(
        &mut self,
        spec: &BucketSpec,
        first: &First,
        (kind, slot): (Kind, Slot),
        items: &[u8],
    ) {
        self.repeats.push(OwnRepeat {
            index: slot.index,
            first: first.index,
            repetition: repetition(spec, &first.item, &slot.item, items),
            record: SetAside {
                chain: first.chain,
                kind,
                slot,
            },
        });
    }

    /// Takes over the first records of another batch, whose items are now in the same buffer. Returns those
    /// that must be set aside because this batch has their ids, by their own index there.
    pub(super) fn join(
        &mut self,
        other: HashMap<Box<[u8]>, First, RandomState>,
        shift: &Shift,
    ) -> HashMap<usize, First> {
        let mut known = HashMap::new();
        for (identity, first) in other {
            if let Some(own) = self.first.get(&identity) {
                known.insert(first.index, own.clone());
            } else {
                self.bytes += identity.len() + ENTRY_BYTES;
                self.first.insert(identity, shift.first(first));
            }
        }
        known
    }

    /// Whether the record that was set aside last has other data than the first one of its id.
    pub(super) fn last_is_other(&self) -> bool {
        let last = self.repeats.last();
        last.is_some_and(|repeat| repeat.repetition != Repetition::Same)
    }

    /// The record at this index has the id of stored records, and other data. The repeats set aside for it
    /// may be the ones that are stored.
    pub(super) fn compare(&mut self, first: usize, stored: &[Cow<'_, RawDocument>], items: &[u8]) {
        let others = self.repeats.iter_mut();
        let others = others.filter(|repeat| {
            repeat.first == first && matches!(repeat.repetition, Repetition::Other { .. })
        });
        for repeat in others {
            let item = document(items, repeat.record.slot.item.clone());
            let is_stored = item
                .is_some_and(|item| stored.iter().any(|stored| equality::are_same(item, stored)));
            if is_stored {
                repeat.repetition = Repetition::Stored;
            }
        }
    }

    /// Takes out the first `free` repeat of each id, which is from now on the first record of its id.
    pub(super) fn promote(
        &mut self,
        spec: &BucketSpec,
        items: &[u8],
        free: impl Fn(&OwnRepeat) -> bool,
    ) -> Vec<SetAside> {
        let mut promoted: Vec<SetAside> = Vec::new();
        // By the index of the earlier first record: the repeat that replaces it.
        let mut successors: HashMap<usize, usize> = HashMap::new();
        let mut left = Vec::with_capacity(self.repeats.len());
        for mut repeat in std::mem::take(&mut self.repeats) {
            if let Some(successor) = successors.get(&repeat.first) {
                let first = &promoted[*successor].slot;
                repeat.first = first.index;
                let item = &repeat.record.slot.item;
                repeat.repetition = repetition(spec, &first.item, item, items);
                left.push(repeat);
            } else if free(&repeat) {
                successors.insert(repeat.first, promoted.len());
                promoted.push(repeat.record);
            } else {
                left.push(repeat);
            }
        }
        self.repeats = left;
        promoted
    }

    /// The size of what is kept for the ids, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// How a record relates to the first one with its key and id.
fn repetition(
    spec: &BucketSpec,
    first: &Range<usize>,
    own: &Range<usize>,
    items: &[u8],
) -> Repetition {
    let [first, own] = [first, own].map(|place| document(items, place.clone()));
    match (first, own) {
        (Some(first), Some(own)) if equality::are_same(first, own) => Repetition::Same,
        _ => {
            let id = own.and_then(|own| record_id::of(spec, own));
            Repetition::Other {
                id: id.map(record_id::text).unwrap_or_default(),
            }
        }
    }
}

/// The positions of another batch's records after the join.
#[derive(Debug)]
pub(super) struct Shift {
    pub(super) index: usize,
    pub(super) bytes: usize,
    pub(super) rows: usize,
    /// The index of each of its chains in this batch.
    pub(super) chains: Vec<usize>,
}

impl Shift {
    pub(super) fn slot(&self, slot: Slot) -> Slot {
        Slot {
            index: slot.index + self.index,
            item: moved(slot.item, self.bytes),
            row: slot.row + self.rows,
            ..slot
        }
    }

    /// Every chain of the other batch has an index here.
    pub(super) fn chain(&self, chain: usize) -> usize {
        self.chains.get(chain).copied().unwrap_or_default()
    }

    fn first(&self, first: First) -> First {
        First {
            index: first.index + self.index,
            item: moved(first.item, self.bytes),
            chain: self.chain(first.chain),
        }
    }
}

/// A range in a buffer after bytes were put before it.
pub(super) fn moved(place: Range<usize>, bytes: usize) -> Range<usize> {
    place.start + bytes..place.end + bytes
}

/// The item at this range of the batch's buffer.
pub(super) fn document(items: &[u8], place: Range<usize>) -> Option<&RawDocument> {
    RawDocument::from_bytes(items.get(place)?).ok()
}
