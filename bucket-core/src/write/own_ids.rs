//! The record ids in a batch: one that comes twice never gets into two statements.

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
    /// That of the first one with the id.
    pub first: usize,
    /// How it stands to the first one.
    pub repetition: Repetition,
    pub(super) record: SetAside,
}

/// What it takes to send a record that was set aside after all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SetAside {
    /// The chain of the first one, which has the key.
    pub(super) chain: usize,
    /// Which buckets of the key it goes into.
    pub(super) kind: Kind,
    pub(super) slot: Slot,
}

/// How a record stands to an earlier one of its batch with the same key and id.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repetition {
    /// It is the same: what became of the first one became of it.
    Same,
    /// It has other data.
    Other {
        /// The id as text.
        id: String,
    },
    /// It has other data, and just those were stored before: the first one is the conflict.
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
    /// The key, which tells where it ends, and what ids have in common that are the same.
    identity: Vec<u8>,
    /// The item in the batch's buffer,
    item: Range<usize>,
    /// and in it the element of the id.
    place: Range<usize>,
}

impl OwnId {
    /// Reads the id off an item in the batch's buffer.
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

    /// Takes over the first records of another batch whose items are in the same buffer by now. Gives those of
    /// them that are to be set aside, by their own index there: this batch has their ids.
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

    /// The record of this index has the id of stored ones, and other data. Those that were set aside
    /// for it may be the ones that are stored.
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

    /// Takes out the first `free` repeat of each id, which is the first record of its id from now on.
    pub(super) fn promote(
        &mut self,
        spec: &BucketSpec,
        items: &[u8],
        free: impl Fn(&OwnRepeat) -> bool,
    ) -> Vec<SetAside> {
        let mut promoted: Vec<SetAside> = Vec::new();
        // By the index of the one before: which of them comes in its place.
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

    /// What is kept of the ids, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// How a record stands to the first one of its key and id.
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

/// Where the records of another batch are once it is joined.
#[derive(Debug)]
pub(super) struct Shift {
    pub(super) index: usize,
    pub(super) bytes: usize,
    pub(super) rows: usize,
    /// By the place of a chain there: its place here.
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

    /// Every chain of the other batch has a place.
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

/// A place in a buffer that others were put in front of.
pub(super) fn moved(place: Range<usize>, bytes: usize) -> Range<usize> {
    place.start + bytes..place.end + bytes
}

/// The item at this place of the batch's buffer.
pub(super) fn document(items: &[u8], place: Range<usize>) -> Option<&RawDocument> {
    RawDocument::from_bytes(items.get(place)?).ok()
}
