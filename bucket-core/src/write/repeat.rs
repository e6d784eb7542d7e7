//! The look for records with an id that were already stored.

use std::{borrow::Cow, collections::HashMap, ops::Range};

use bson::{RawDocument, RawDocumentBuf};

use super::{Batch, Chain, equality, own_ids::document, record_id};
use crate::{
    bucket::{ItemReader, edits::is_removed},
    read::{self, FindPlan},
};

/// The result of a look for records by their ids.
#[derive(Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repeats {
    /// The records that are already stored.
    pub duplicates: Vec<usize>,
    /// The records whose id is already stored with other data, and the id as text.
    pub conflicts: Vec<(usize, String)>,
}

impl Batch {
    /// Looks for one record by its id before anything is sent, which fails if the index on record ids is
    /// missing. No other statement names that index.
    pub fn suspect_one(&mut self) {
        let _ = self.spec.unique().is_some() && self.chains.iter_mut().any(Chain::suspect_first);
    }

    /// The reads that find a chain's records that are already stored, for
    /// [`Need::Repeats`](super::Need::Repeats).
    #[must_use]
    pub fn repeats(&self, chain: usize) -> Vec<FindPlan> {
        let Some(chain) = self.chains().get(chain) else {
            return Vec::new();
        };
        let suspects = chain.suspects();
        let ids: Vec<&[u8]> = suspects
            .filter_map(|slot| self.encoded().id(slot))
            .collect();
        let parts = read::in_commands(&ids, usize::MAX, |id| id.len());
        let of_part = |ids: &[&[u8]]| read::repeats(self.spec, chain.key(), ids);
        parts.into_iter().map(of_part).collect()
    }

    /// Takes the buckets that those reads found. The records whose ids are in them are settled.
    pub fn saw_repeats(&mut self, chain: usize, found: &[RawDocumentBuf]) -> Repeats {
        let mut stored: HashMap<Vec<u8>, Vec<Cow<'_, RawDocument>>> = HashMap::new();
        for bucket in found {
            let items = bucket.get_array(self.spec.items());
            let (Ok(items), Ok(reader)) = (items, ItemReader::new(self.spec, bucket)) else {
                continue;
            };
            for item in items.into_iter().flatten() {
                let Some(item) = item.as_document() else {
                    continue;
                };
                let id = record_id::of(self.spec, item).and_then(record_id::identity);
                if let Some(id) = id {
                    stored.entry(id).or_default().push(reader.encoded(item));
                }
            }
        }
        let mut repeats = Repeats::default();
        let mut contested = Vec::new();
        let items = &self.encoded.items;
        let at = chain;
        let Some(chain) = self.chains.get_mut(at) else {
            return repeats;
        };
        let own = |place: Range<usize>| {
            let item = document(items, place)?;
            let id = record_id::of(self.spec, item)?;
            Some((item, id, record_id::identity(id)?))
        };
        let is_stored = |id: &Vec<u8>| stored.contains_key(id);
        let found =
            chain.looked(|slot| own(slot.item.clone()).is_some_and(|(_, _, id)| is_stored(&id)));
        for slot in found {
            let Some((item, id, identity)) = own(slot.item.clone()) else {
                continue;
            };
            let others = stored.get(&identity).map_or(&[][..], Vec::as_slice);
            // A removed record was stored: nothing else of it is left to compare.
            let is_same =
                |other: &Cow<'_, RawDocument>| is_removed(other) || equality::are_same(item, other);
            if others.iter().any(is_same) {
                repeats.duplicates.push(slot.index);
            } else {
                repeats.conflicts.push((slot.index, record_id::text(id)));
                self.own_ids.compare(slot.index, others, items);
                chain.fails_from(slot.position);
                chain.are_unstored(&[slot.index]);
                contested.push(slot);
            }
        }
        for slot in contested {
            self.contest(at, &slot);
        }
        self.set_held_back_aside();
        repeats
    }
}
