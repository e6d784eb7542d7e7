//! What a call sets on all chains of its batch, and asks them.

use super::Batch;
use crate::write::{BucketHint, Chain, OwnRepeat, command::MAX_STATEMENTS, own_ids::SetAside};

impl Batch {
    /// Lets a single record try the bucket with this id before anything is read.
    pub fn guess(&mut self, id: impl Fn(&Chain) -> Option<String>) {
        if self.records != 1 {
            return;
        }
        for chain in &mut self.chains {
            if let Some(id) = id(chain) {
                chain.guess(id);
            }
        }
    }

    /// Lets chains use the hints that an earlier batch of the same source left, before anything is read.
    pub fn recall(&mut self, mut hint: impl FnMut(&Chain) -> Option<BucketHint>) {
        let lone = self.records == 1;
        for chain in &mut self.chains {
            if let Some(hint) = hint(chain) {
                chain.recall(&hint, lone);
            }
        }
    }

    /// Looks for the newest bucket of each key before anything is opened; see
    /// [`Chain::look_first`].
    pub fn look_first(&mut self) {
        self.in_order = true;
        self.chains.iter_mut().for_each(Chain::look_first);
    }

    /// Chains whose buckets may be merged look for those before anything is opened.
    pub(in crate::write) fn look_for_merged(&mut self) {
        let Some(until) = self.spec.merged_until(self.now()) else {
            return;
        };
        for chain in &mut self.chains {
            if chain
                .kind()
                .window()
                .is_some_and(|window| window.end <= until)
            {
                chain.look_for_merged();
            }
        }
    }

    /// The indexes of the records that are not settled yet, including those set aside for an earlier one.
    #[must_use]
    pub fn indexes(&self) -> Vec<usize> {
        let pending = self.chains.iter().flat_map(Chain::indexes);
        let repeats = self.own_repeats().iter().map(|repeat| repeat.index);
        pending.chain(repeats).collect()
    }

    /// Takes over buckets without records that others have reserved, without waiting.
    pub fn wait_for_nobody(&mut self) {
        self.chains.iter_mut().for_each(Chain::wait_for_nobody);
    }

    /// The longest pause that is due while chains need [`Patience`](crate::write::Need::Patience), in
    /// milliseconds. At least half of it must pass.
    pub(in crate::write) fn patience(&self) -> Option<u64> {
        let patient = self.front().filter(|(_, chain)| chain.is_patient());
        patient.filter_map(|(_, chain)| chain.patience()).max()
    }

    /// A pause as long as chains need for [`Patience`](crate::write::Need::Patience) is over.
    pub fn waited(&mut self) {
        let patient = self.chains.iter_mut().filter(|chain| chain.is_patient());
        patient.for_each(Chain::waited);
    }

    /// Gives up on every pending record. Returns their indexes.
    pub fn give_up(&mut self) -> Vec<usize> {
        self.chains.iter_mut().flat_map(Chain::give_up).collect()
    }

    /// Takes out the records with these indexes that are not settled: none of them was sent, or everything
    /// sent was refused. Returns their indexes.
    ///
    /// ```
    /// # use bucket_core::write::Batch;
    /// fn keep_the_first(batch: &mut Batch) -> usize {
    ///     batch.withdraw(|index| index > 0).len()
    /// }
    /// ```
    pub fn withdraw(&mut self, is_gone: impl Fn(usize) -> bool) -> Vec<usize> {
        let chains = self.chains.iter_mut();
        chains.flat_map(|chain| chain.withdraw(&is_gone)).collect()
    }

    /// Sends records that were set aside instead of the first ones with their ids, if they are `free`: those
    /// first ones are not stored and never will be. Returns whether there are any.
    pub(in crate::write) fn promote_repeats(&mut self, free: impl Fn(&OwnRepeat) -> bool) -> bool {
        let items = &self.encoded.items;
        let promoted = self.own_ids.promote(self.spec, items, free);
        let are_some = !promoted.is_empty();
        for SetAside { chain, kind, slot } in promoted {
            let (key, prefix) = (self.chains[chain].key(), self.chains[chain].prefix());
            let (key, prefix) = (key.to_vec(), prefix.to_owned());
            let (begun, in_order) = (self.chains.len(), self.in_order);
            let at = self.find_or_begin(&key, kind, || prefix);
            let chain = &mut self.chains[at];
            if at == begun && in_order {
                chain.look_first();
            }
            chain.insert(slot);
        }
        are_some
    }

    /// The most statements of a command.
    pub(in crate::write) fn max_statements(&self) -> usize {
        self.max_statements
    }

    pub(in crate::write) fn set_max_statements(&mut self, statements: usize) {
        self.max_statements = statements.clamp(1, MAX_STATEMENTS);
    }

    /// Whether every command must be ordered.
    pub(in crate::write) fn in_order(&self) -> bool {
        self.in_order
    }

    /// Whether another writer's opening has stopped a command of this batch.
    pub(in crate::write) fn is_raced(&self) -> bool {
        self.raced
    }

    pub(in crate::write) fn set_raced(&mut self) {
        self.raced = true;
    }
}
