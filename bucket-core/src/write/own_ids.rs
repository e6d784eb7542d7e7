//! The record ids in a batch: one that comes twice never gets into two statements.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    ops::Range,
};

use bson::RawDocument;
use foldhash::fast::RandomState;

use super::{equality, record_id};
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
    /// The first record of each key and id: its index, and its item in the batch's buffer.
    first: HashMap<Box<[u8]>, (usize, Range<usize>), RandomState>,
    pub(super) repeats: Vec<OwnRepeat>,
    /// The repeats with other data, by the first one's index.
    others: HashMap<usize, Vec<Other>>,
    bytes: usize,
}

/// A repeat with other data: its place among the repeats, and its item.
#[derive(Debug)]
struct Other {
    at: usize,
    item: Box<[u8]>,
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
    /// Whether an earlier record has this key and id; then this one is set aside.
    pub(super) fn sets_aside(
        &mut self,
        spec: &BucketSpec,
        id: &OwnId,
        index: usize,
        items: &[u8],
    ) -> bool {
        let Some((first, place)) = self.first.get(id.identity.as_slice()) else {
            return false;
        };
        let (first, place) = (*first, place.clone());
        let item = items.get(id.item.clone()).unwrap_or_default();
        let first_item = items.get(place).unwrap_or_default();
        self.set_aside(spec, (first, first_item), index, item);
        true
    }

    /// Sets a record aside that has the key and the id of the first one.
    fn set_aside(
        &mut self,
        spec: &BucketSpec,
        (first, first_item): (usize, &[u8]),
        index: usize,
        item: &[u8],
    ) {
        let own = RawDocument::from_bytes(item).ok();
        let same = match (RawDocument::from_bytes(first_item), own) {
            (Ok(first), Some(own)) => equality::are_same(first, own),
            _ => false,
        };
        let repetition = if same {
            Repetition::Same
        } else {
            let text = own.and_then(|own| record_id::of(spec, own));
            Repetition::Other {
                id: text.map(record_id::text).unwrap_or_default(),
            }
        };
        if !same {
            self.keep(first, item.into());
        }
        self.repeats.push(OwnRepeat {
            index,
            first,
            repetition,
        });
    }

    /// Keeps the item of the next repeat, to compare it with what is stored.
    fn keep(&mut self, first: usize, item: Box<[u8]>) {
        self.bytes += item.len();
        let at = self.repeats.len();
        let others = self.others.entry(first).or_default();
        others.push(Other { at, item });
    }

    /// Takes over the ids of another batch whose items stand in the same buffer by now. Gives the
    /// indexes of the records that are set aside because this one has their ids.
    pub(super) fn join(
        &mut self,
        spec: &BucketSpec,
        other: Self,
        shift: Shift,
        items: &[u8],
    ) -> HashSet<usize> {
        let item_at = |place: Range<usize>| items.get(place).unwrap_or_default();
        let mut set_aside = HashSet::new();
        // By the index of the other batch's first record: this one's, and both items.
        let mut replaced = HashMap::new();
        for (identity, (index, place)) in other.first {
            let (moved_index, place) = (index + shift.index, moved(place, shift.bytes));
            if let Some((first, first_place)) = self.first.get(&identity) {
                let first = (*first, item_at(first_place.clone()));
                self.set_aside(spec, first, moved_index, item_at(place.clone()));
                set_aside.insert(moved_index);
                replaced.insert(index, (first, place));
            } else {
                self.bytes += identity.len() + ENTRY_BYTES;
                self.first.insert(identity, (moved_index, place));
            }
        }
        let kept = other.others.into_values().flatten();
        let mut kept: HashMap<usize, Box<[u8]>> = kept.map(|it| (it.at, it.item)).collect();
        for (at, repeat) in other.repeats.into_iter().enumerate() {
            let index = repeat.index + shift.index;
            let item = kept.remove(&at);
            if let Some((first, place)) = replaced.get(&repeat.first) {
                let item = item.as_deref().unwrap_or(item_at(place.clone()));
                self.set_aside(spec, *first, index, item);
                continue;
            }
            let first = repeat.first + shift.index;
            if let Some(item) = item {
                self.keep(first, item);
            }
            self.repeats.push(OwnRepeat {
                index,
                first,
                repetition: repeat.repetition,
            });
        }
        set_aside
    }

    /// Whether the record that was set aside last has other data than the first one of its id.
    pub(super) fn last_is_other(&self) -> bool {
        let last = self.repeats.last();
        last.is_some_and(|repeat| repeat.repetition != Repetition::Same)
    }

    pub(super) fn add(&mut self, id: OwnId, index: usize) {
        self.bytes += id.identity.len() + ENTRY_BYTES;
        self.first.insert(id.identity.into(), (index, id.item));
    }

    /// The record of this index has the id of stored ones, and other data. Those that were set aside
    /// for it may be the ones that are stored.
    pub(super) fn compare(&mut self, first: usize, stored: &[Cow<'_, RawDocument>]) {
        for Other { at, item } in self.others.remove(&first).into_iter().flatten() {
            let item = RawDocument::from_bytes(&item).ok();
            let is_stored = item
                .is_some_and(|item| stored.iter().any(|stored| equality::are_same(item, stored)));
            if let (Some(repeat), true) = (self.repeats.get_mut(at), is_stored) {
                repeat.repetition = Repetition::Stored;
            }
        }
    }

    /// What is kept of the ids, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// How far the records of another batch move when it is joined.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shift {
    pub(super) index: usize,
    pub(super) bytes: usize,
}

/// A place in a buffer that others were put in front of.
pub(super) fn moved(place: Range<usize>, bytes: usize) -> Range<usize> {
    place.start + bytes..place.end + bytes
}

/// The item at this place of the batch's buffer.
pub(super) fn document(items: &[u8], place: Range<usize>) -> Option<&RawDocument> {
    RawDocument::from_bytes(items.get(place)?).ok()
}
