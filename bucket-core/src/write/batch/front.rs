//! The chains that are written at the moment.
//!
//! A batch may have hundreds of thousands. If all of their statements were made at once, they would take more memory than
//! the records, and none could learn from the outcome of others.

use super::Batch;
use crate::write::{Chain, Need};

/// As many as fill the commands that are in flight at the same time.
const FRONT: usize = 4_000;

impl Batch {
    /// The first chains that have not been dealt with. Chains take the places of those that have.
    pub(in crate::write) fn front(&self) -> impl Iterator<Item = (usize, &Chain)> {
        let chains = self.chains.iter().enumerate().skip(self.done);
        chains
            .filter(|(_, chain)| chain.need() != Need::Nothing)
            .take(FRONT)
    }

    /// The place after the last chain of the front.
    pub(in crate::write) fn end_of_front(&self) -> usize {
        self.front().last().map_or(0, |(at, _)| at + 1)
    }

    /// Opens buckets without a look where keys have turned out to be new.
    pub(in crate::write) fn assume_new(&mut self) {
        if !self.newness.is_likely() || self.in_order() {
            return;
        }
        let front: Vec<usize> = self.front().map(|(at, _)| at).collect();
        for at in front {
            self.chains[at].assume_new();
        }
    }

    /// Passes the chains that have been dealt with.
    pub(in crate::write) fn pass_done(&mut self) {
        let mut rest = self.chains.iter().skip(self.done);
        let passed = rest.position(|chain| chain.need() != Need::Nothing);
        self.done = passed.map_or(self.chains.len(), |passed| self.done + passed);
    }
}
