//! How many records each side has, and a hash of them, part by part.

use std::collections::BTreeSet;

use super::fingerprint::Fingerprint;

/// How many parts the records fall into.
const PARTS: usize = 1 << 16;

/// One of the two that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Side {
    /// The flat collection.
    Source,
    /// The buckets.
    Buckets,
}

/// The number of records, and the sum of their fingerprints: it does not depend on their order, and counts a record that is
/// there twice (an additive multiset hash: Clarke et al., "Incremental Multiset Hash Functions", 2003).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Tally {
    records: u64,
    sum: u128,
}

/// The records of a side, part by part.
#[derive(Debug, Clone)]
pub struct Tallies(Vec<Tally>);

impl Default for Tallies {
    fn default() -> Self {
        Self(vec![Tally::default(); PARTS])
    }
}

impl Fingerprint {
    fn part(self) -> u16 {
        let [first, second, ..] = self.0.to_le_bytes();
        u16::from_le_bytes([first, second])
    }
}

impl Tallies {
    /// Counts a record.
    pub fn add(&mut self, fingerprint: Fingerprint) {
        // There are as many as numbers of 16 bits.
        if let Some(tally) = self.0.get_mut(usize::from(fingerprint.part())) {
            tally.records += 1;
            tally.sum = tally.sum.wrapping_add(fingerprint.0);
        }
    }

    /// The number of records.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.0.iter().map(|tally| tally.records).sum()
    }

    /// The parts in which this side and another one differ, and of these as many as have about this number of records.
    #[must_use]
    pub fn differing(&self, other: &Self, most: u64) -> Parts {
        let mut parts = Parts::default();
        let mut records = 0;
        for (part, (one, other)) in (0..=u16::MAX).zip(self.0.iter().zip(&other.0)) {
            if one == other {
                continue;
            }
            if records >= most {
                parts.left_out += 1;
                continue;
            }
            records += one.records + other.records;
            parts.of.insert(part);
        }
        parts
    }
}

/// Parts in which the sides differ.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parts {
    of: BTreeSet<u16>,
    left_out: usize,
}

impl Parts {
    /// Whether there are none: both sides have the same records.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// How many parts differ beyond these.
    #[must_use]
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    pub(super) fn has(&self, fingerprint: Fingerprint) -> bool {
        self.of.contains(&fingerprint.part())
    }
}
