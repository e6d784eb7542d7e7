//! Finds records of a batch that are too late for the newest bucket of their key.

use super::Batch;
use crate::error::EncodeError;

/// The outcome of late records; see [`Batch::sort_out_late`].
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct SortedOut {
    /// The number of records that go into other buckets than the newest ones.
    pub moved: usize,
    /// The records that the model refuses.
    pub refused: Vec<(usize, EncodeError)>,
    /// Some that it would refuse may be stored already: they must be looked for first.
    pub asks: bool,
}

impl Batch {
    /// In forms that depend on time, sorts the records and takes late ones out: into chains of their own, or
    /// into the result if the model refuses them. Call it after each look at the newest buckets.
    #[must_use]
    pub fn sort_out_late(&mut self) -> SortedOut {
        let mut sorted_out = SortedOut::default();
        let front: Vec<usize> = self.front().map(|(at, _)| at).collect();
        for at in front {
            let chain = &mut self.chains[at];
            chain.sort();
            let Some(in_time) = chain.kind().in_time() else {
                continue;
            };
            let start = chain.newest_start();
            if in_time.refuses_late() && chain.suspects_late() {
                sorted_out.asks = true;
                continue;
            }
            let late = chain.take_late();
            let (Some(start), false) = (start, late.is_empty()) else {
                continue;
            };
            let (key, prefix) = (chain.key().to_vec(), chain.prefix().to_owned());
            for slot in late {
                let time = slot.time;
                if in_time.refuses_late() {
                    // It may be a later version of a record that is stored.
                    self.contest(at, &slot);
                    let refused = EncodeError::Late { time, start };
                    sorted_out.refused.push((slot.index, refused));
                    self.chains[at].are_unstored(&[slot.index]);
                    continue;
                }
                sorted_out.moved += 1;
                let at = self.find_or_begin(&key, in_time.late(time), || prefix.clone());
                self.chains[at].take_in(slot);
            }
        }
        sorted_out
    }
}
