//! The chains that are written at the moment.
//!
//! A batch may have hundreds of thousands. If all of their statements were made at once, they would take more memory than
//! the records, and none could learn from the outcome of others.

use super::Batch;
use crate::write::{Chain, Need};

/// As many as fill the commands that are in flight at the same time.
const FRONT: usize = 4_000;

impl Batch {
    /// The chains of the front that have not been dealt with.
    pub(in crate::write) fn front(&self) -> impl Iterator<Item = (usize, &Chain)> {
        let chains = self.chains.iter().enumerate();
        let chains = chains.take(self.front_end).skip(self.done);
        chains.filter(|(_, chain)| is_pending(chain))
    }

    /// Lets chains take the places of those that have been dealt with. The front stays the same until the next call, so
    /// every chain of it is read and sorted before it is planned.
    pub(in crate::write) fn advance(&mut self) {
        let mut rest = self.chains.iter().skip(self.done);
        let passed = rest.position(is_pending);
        self.done = passed.map_or(self.chains.len(), |passed| self.done + passed);
        let chains = self.chains.iter().enumerate().skip(self.done);
        let mut pending = chains.filter(|(_, chain)| is_pending(chain));
        let last = pending.nth(FRONT - 1);
        self.front_end = last.map_or(usize::MAX, |(last, _)| last + 1);
    }

    /// Whether other chains can take the places of those that have been dealt with.
    pub(in crate::write) fn can_advance(&self) -> bool {
        let mut rest = self.chains.iter().skip(self.front_end);
        self.front().count() < FRONT && rest.any(is_pending)
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
}

fn is_pending(chain: &Chain) -> bool {
    chain.need() != Need::Nothing
}
