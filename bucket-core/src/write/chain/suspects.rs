//! Which of a chain's records must be looked for, because they may already be stored.
//!
//! Records with ids are sent without a look. If a record is already stored, the filter or the unique index
//! refuses its statement, and nothing is changed. Then the records of that statement are looked for. If one
//! is found, so are all others of the chain: repeated records usually come in numbers.

use super::{Chain, Step, state::Suspects};
use crate::{model::spec::BucketSpec, write::slot::Slot};

/// The most ids that one read looks for ..
const MAX_IDS: usize = 1_000;
/// .. and the size of their items, in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

impl Chain {
    /// Whether records must be looked for before the next statement.
    pub(super) fn suspects_repeats(&self) -> bool {
        self.suspects.asked < self.suspects.due.min(self.pending.len())
    }

    /// Looks for the first record before anything is sent. Returns whether there is one.
    pub(in crate::write) fn suspect_first(&mut self) -> bool {
        let due = self.suspects.due.max(1);
        self.suspects = Suspects { due, asked: 0 };
        self.suspects_repeats()
    }

    /// Looks for this number of records, unless they were looked for. Returns whether they must be.
    pub(super) fn suspect_first_of(&mut self, records: usize) -> bool {
        if !self.has_ids() || self.suspects.asked >= records {
            return false;
        }
        self.suspects.due = self.suspects.due.max(records);
        true
    }

    /// Looks for every record before anything is sent.
    pub(super) fn suspect_all(&mut self) {
        if self.has_ids() {
            self.suspects = Suspects::ALL;
        }
    }

    /// The statement was refused, and records of it may already be in the bucket.
    pub(in crate::write) fn suspect(&mut self, step: &Step) {
        if self.has_ids() && step.action.is_guarded() {
            self.suspects = Suspects {
                due: step.take,
                asked: 0,
            };
        }
    }

    /// The statement was refused because a bucket of the key has the id of one of its records;
    /// nothing was changed. The tail is as it was seen.
    pub fn repeated(&mut self, step: &Step) {
        self.misses = self.misses.saturating_add(1);
        self.guess = None;
        self.confirmed = false;
        self.forget_watermark();
        self.suspects = Suspects {
            due: step.take,
            asked: 0,
        };
    }

    /// The records from this one on are not the ones that were looked for.
    pub(super) fn not_asked_from(&mut self, at: usize) {
        self.suspects.asked = self.suspects.asked.min(at);
    }

    /// The records that the next read must look for.
    pub(in crate::write) fn suspects(&self) -> impl Iterator<Item = &Slot> {
        let Suspects { due, asked } = self.suspects;
        let mut bytes = 0_u64;
        let within = move |at: usize, slot: &Slot| {
            bytes = bytes.saturating_add(slot.bytes);
            at == 0 || bytes <= MAX_BYTES
        };
        let left = due.saturating_sub(asked).min(MAX_IDS);
        let slots = self.pending.iter().skip(asked).take(left).enumerate();
        slots
            .scan(within, |within, (at, slot)| {
                within(at, slot).then_some(slot)
            })
            .fuse()
    }

    /// The suspects were looked for. Takes out those that are already stored.
    pub(in crate::write) fn looked(&mut self, is_stored: impl Fn(&Slot) -> bool) -> Vec<Slot> {
        let from = self.suspects.asked;
        let to = from + self.suspects().count();
        let mut stored = Vec::new();
        let mut at = 0;
        self.pending.retain(|slot| {
            let found = (from..to).contains(&at) && is_stored(slot);
            at += 1;
            if found {
                stored.push(slot.clone());
            }
            !found
        });
        self.suspects.asked = to - stored.len();
        if !stored.is_empty() {
            self.suspects.due = usize::MAX;
            // That explains the refusals so far.
            self.refused = None;
            self.misses = 0;
            self.first_is_another();
        } else if !self.suspects_repeats() {
            self.count_refusal();
        }
        stored
    }

    /// Counts a refusal that no repeated record explains.
    fn count_refusal(&mut self) {
        if let Some(refused) = &mut self.refused {
            refused.times = refused.times.saturating_add(1);
        }
    }

    fn has_ids(&self) -> bool {
        has_ids(self.spec)
    }
}

/// Whether a refusal proves nothing about the bucket until the records were looked for.
pub(super) fn has_ids(spec: &BucketSpec) -> bool {
    spec.unique().is_some()
}
