//! Which records of a batch are contested.

use std::collections::HashSet;

use super::{Batch, Contested, Repetition, own_ids::SetAside, slot::Slot};

impl Batch {
    /// Keeps the records that are not stored because the key has another record of their id.
    pub fn keep_contested(&mut self) {
        self.contested.get_or_insert_default();
    }

    /// Keeps a record of a chain, if that is asked for.
    pub(super) fn contest(&mut self, chain: usize, slot: &Slot) {
        if let (Some(kept), Some(chain)) = (&mut self.contested, self.chains.get(chain)) {
            kept.extend(Contested::new(self.spec, chain, slot, &self.encoded.items));
        }
    }

    /// Takes the contested records in the order of the caller. Of the records with the id of an earlier one of
    /// the batch, those that `are_settled` are among them if their id is contested, even if one is the same as
    /// what is stored: what comes before it may replace that.
    pub(super) fn take_contested(&mut self, are_settled: &HashSet<usize>) -> Vec<Contested> {
        let Some(contested) = &self.contested else {
            return Vec::new();
        };
        let mut ids: HashSet<usize> = contested.iter().map(|first| first.index).collect();
        let mut repeats = Vec::new();
        for repeat in self.own_repeats() {
            if !are_settled.contains(&repeat.index) {
                continue;
            }
            if matches!(repeat.repetition, Repetition::Other { .. }) {
                ids.insert(repeat.first);
            }
            if ids.contains(&repeat.first) {
                repeats.push(repeat.record.clone());
            }
        }
        for SetAside { chain, slot, .. } in repeats {
            self.contest(chain, &slot);
        }
        let mut contested = self.contested.replace(Vec::new()).unwrap_or_default();
        contested.sort_by_key(|record| record.index);
        contested
    }
}
