//! Record ids that two buckets of a key have, where no unique index forbids that.

use std::{
    collections::{HashMap, HashSet},
    hash::BuildHasher,
};

use bson::{Bson, RawBsonRef, RawDocument};
use foldhash::{fast, quality};

use crate::{bucket::items, model::spec::BucketSpec, write::identity};

/// The most ids of a key that are compared: they take up to 40 MB. Of a key with more of them, a random part is
/// compared: those with a hash that ends with enough zeros, from all buckets.
const MOST: usize = 1_000_000;

/// The ids of the key that is being read, by their hashes.
#[derive(Debug)]
pub(super) struct Ids {
    hasher: quality::RandomState,
    /// The place in `buckets` of the first bucket that has each.
    first: HashMap<u64, usize, fast::RandomState>,
    /// The ids of the buckets.
    buckets: Vec<Bson>,
    /// How many zeros the hash of an id ends with, so that it is compared.
    zeros: u32,
    most: usize,
}

/// That a bucket seems to have record ids of an earlier one.
#[derive(Debug, PartialEq)]
pub(super) struct Shared {
    /// The earlier bucket.
    pub(super) other: Bson,
    /// The index of the first item with such an id.
    pub(super) index: u64,
    /// How many such items there are; 0 if neither bucket has items.
    pub(super) ids: u64,
}

impl Ids {
    pub(super) fn new() -> Self {
        Self::of_most(MOST)
    }

    fn of_most(most: usize) -> Self {
        Self {
            hasher: quality::RandomState::default(),
            first: HashMap::default(),
            buckets: Vec::new(),
            zeros: 0,
            most,
        }
    }

    /// Whether only a part of the ids is compared.
    pub(super) fn is_a_part(&self) -> bool {
        self.zeros > 0
    }

    /// The next bucket of the key, and the earlier ones that seem to have ids of it.
    pub(super) fn take(
        &mut self,
        spec: &BucketSpec,
        id: &Bson,
        stored: &RawDocument,
    ) -> Vec<Shared> {
        let mut found = Vec::new();
        let mut is_in = false;
        each(spec, stored, |index, identity| {
            is_in |= self.take_one(index, &identity, &mut found);
        });
        self.bucket(is_in, id);
        let found = found.into_iter().map(|(_, shared)| shared);
        if has_none(spec, stored) {
            return found.map(|shared| Shared { ids: 0, ..shared }).collect();
        }
        found.collect()
    }

    /// Whether the bucket is the first with this id.
    fn take_one(&mut self, index: u64, identity: &[u8], found: &mut Vec<(usize, Shared)>) -> bool {
        let hash = self.hasher.hash_one(identity);
        if hash.trailing_zeros() < self.zeros {
            return false;
        }
        let own = self.buckets.len();
        let before = *self.first.entry(hash).or_insert(own);
        // A repetition within the bucket is a problem of its own.
        if before == own {
            return true;
        }
        match found.iter_mut().find(|(of, _)| *of == before) {
            Some((_, shared)) => shared.ids += 1,
            None => found.extend(self.buckets.get(before).map(|other| {
                let other = other.clone();
                (
                    before,
                    Shared {
                        other,
                        index,
                        ids: 1,
                    },
                )
            })),
        }
        false
    }

    /// The bucket is over.
    fn bucket(&mut self, is_in: bool, id: &Bson) {
        if is_in {
            self.buckets.push(id.clone());
        }
        if self.first.len() > self.most {
            self.thin_out();
        }
        if self.buckets.len() > self.most + self.most / 4 {
            self.forget_buckets();
        }
    }

    fn thin_out(&mut self) {
        while self.first.len() > self.most {
            self.zeros += 1;
            let zeros = self.zeros;
            self.first.retain(|hash, _| hash.trailing_zeros() >= zeros);
        }
        self.forget_buckets();
    }

    /// Keeps the buckets of ids that are compared.
    fn forget_buckets(&mut self) {
        let mut places = HashMap::new();
        let mut kept = Vec::new();
        for place in self.first.values_mut() {
            *place = *places.entry(*place).or_insert_with(|| {
                kept.push(self.buckets.get(*place).cloned().unwrap_or(Bson::Null));
                kept.len() - 1
            });
        }
        self.buckets = kept;
    }
}

/// Whether the two buckets have an id in common.
pub(crate) fn share_one(spec: &BucketSpec, one: &RawDocument, other: &RawDocument) -> bool {
    let mut of_one = HashSet::new();
    each(spec, one, |_, identity| {
        of_one.insert(identity);
    });
    let mut is_shared = false;
    each(spec, other, |_, identity| {
        is_shared |= of_one.contains(&identity);
    });
    is_shared
}

/// Each record id of a bucket as the index on ids compares it, with the index of its item.
fn each(spec: &BucketSpec, stored: &RawDocument, mut take: impl FnMut(u64, Vec<u8>)) {
    if spec.unique().is_none() {
        return;
    }
    let Ok(items) = items(spec, stored) else {
        return;
    };
    if has_none(spec, stored) {
        // The index has one entry for it, and takes only one such bucket of a key. No id is that short.
        take(0, Vec::new());
    }
    for (index, item) in (0..).zip(items.into_iter().map_while(Result::ok)) {
        let RawBsonRef::Document(item) = item else {
            continue;
        };
        if let Some(identity) = identity_of(spec, item) {
            take(index, identity);
        }
    }
}

/// Whether a bucket has no items.
fn has_none(spec: &BucketSpec, stored: &RawDocument) -> bool {
    items(spec, stored).is_ok_and(|items| items.into_iter().next().is_none())
}

/// The record id of an item as the index on ids compares it. In the place of a removed record is its id, or the place
/// itself, which no other item has. `None` of what cannot be an id.
pub(super) fn identity_of(spec: &BucketSpec, item: &RawDocument) -> Option<Vec<u8>> {
    match item.get(spec.unique()?) {
        Ok(Some(RawBsonRef::Document(place))) => Some(place.as_bytes().to_vec()),
        Ok(Some(value)) => identity(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use bson::Bson;

    use super::Ids;

    /// Buckets of ten ids each; returns those that seem to share one.
    fn shared(ids: &mut Ids, buckets: impl Iterator<Item = [u64; 10]>) -> BTreeSet<(i64, String)> {
        let mut all = BTreeSet::new();
        for (number, of_bucket) in (0_i64..).zip(buckets) {
            let mut found = Vec::new();
            let mut is_in = false;
            for (index, id) in (0..).zip(of_bucket) {
                is_in |= ids.take_one(index, &id.to_le_bytes(), &mut found);
            }
            ids.bucket(is_in, &Bson::Int64(number));
            let found = found.into_iter();
            all.extend(found.map(|(_, shared)| (number, shared.other.to_string())));
        }
        all
    }

    #[test]
    fn of_more_ids_than_fit_a_part_is_compared_and_nothing_else_is_suspected() {
        let bucket = |number: u64| std::array::from_fn(|at| number * 10 + at as u64);
        // All ids of the tenth bucket come again at the end.
        let all = || (0..5_000).map(bucket).chain([bucket(9)]);
        let mut whole = Ids::of_most(100_000);
        let expected = BTreeSet::from([(5_000, "9".to_owned())]);
        assert_eq!(shared(&mut whole, all()), expected);
        assert!(!whole.is_a_part());
        let mut part = Ids::of_most(25_000);
        let found = shared(&mut part, all());
        // Each of ten ids is left out half of the time.
        assert!(found.is_empty() || found == expected, "{found:?}");
        assert!(part.is_a_part() && part.first.len() <= 25_000);
        assert!(part.first.len() > 2_000, "{}", part.first.len());
        assert!(part.buckets.len() <= part.first.len());
        // Many buckets that come again cannot all be left out.
        let mut part = Ids::of_most(1_000);
        let found = shared(
            &mut part,
            (0..5_000).map(bucket).chain((0..5_000).map(bucket)),
        );
        assert!(found.len() > 100, "{}", found.len());
        for (number, other) in found {
            assert_eq!((number - 5_000).to_string(), other);
        }
        assert!(part.first.len() <= 1_000 && part.buckets.len() <= 1_250);
    }
}
