//! Which records of the parts that differ only one side has.

use std::collections::HashMap;

use super::{
    fingerprint::Fingerprint,
    tallies::{Parts, Side},
};

/// A record that one side has, or has more often.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Excess<W> {
    /// The side.
    pub side: Side,
    /// What was kept of it.
    pub what: W,
}

/// Looks for the records that one side has and the other has not. `W` is what is kept of a record until the other side has it,
/// too.
#[derive(Debug)]
pub struct Search<W> {
    parts: Parts,
    unmatched: HashMap<Fingerprint, Vec<Excess<W>>>,
}

impl<W> Search<W> {
    /// A search in these parts.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        Self {
            parts,
            unmatched: HashMap::new(),
        }
    }

    /// Takes a record of a side, if it is in one of the parts: with one of the other side it makes a pair.
    pub fn add(&mut self, side: Side, fingerprint: Fingerprint, what: impl FnOnce() -> W) {
        if !self.parts.has(fingerprint) {
            return;
        }
        let others = self.unmatched.entry(fingerprint).or_default();
        match others.last() {
            Some(other) if other.side != side => {
                others.pop();
            }
            _ => others.push(Excess { side, what: what() }),
        }
        if others.is_empty() {
            self.unmatched.remove(&fingerprint);
        }
    }

    /// The records without one of the other side, in no order.
    pub fn unmatched(self) -> impl Iterator<Item = Excess<W>> {
        self.unmatched.into_values().flatten()
    }
}
