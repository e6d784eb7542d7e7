//! Joins several batches into one, so that records of one bucket share a statement.

use super::{
    Batch, Kind,
    own_ids::{First, OwnRepeat, SetAside, Shift, moved},
    slot::Slot,
};

impl Batch {
    /// Appends the records of another batch to this one; their indexes grow by `offset`.
    ///
    /// A record whose key and id this batch already has is set aside, as by a push.
    ///
    /// Both must have the same model. Neither may have a source, or have been planned.
    ///
    /// ```
    /// # use bucket_core::write::Batch;
    /// fn joined(mut one: Batch, other: Batch) -> Batch {
    ///     let offset = one.records() + one.own_repeats().len();
    ///     one.join(other, offset);
    ///     one
    /// }
    /// ```
    pub fn join(&mut self, other: Self, offset: usize) {
        let mut shift = Shift {
            index: offset,
            bytes: self.encoded.items.len(),
            rows: self.encoded.rows,
            chains: Vec::with_capacity(other.chains.len()),
        };
        self.encoded.items.extend_from_slice(&other.encoded.items);
        self.encoded.inputs.join(other.encoded.inputs);
        let ids = other.encoded.ids.into_iter();
        self.encoded
            .ids
            .extend(ids.map(|id| moved(id, shift.bytes)));
        self.encoded.rows += other.encoded.rows;
        for chain in &other.chains {
            let prefix = || chain.prefix().to_owned();
            let at = self.find_or_begin(chain.key(), chain.kind(), prefix);
            shift.chains.push(at);
        }
        let known = self.own_ids.join(other.own_ids.first, &shift);
        for (chain, at) in other.chains.into_iter().zip(&shift.chains) {
            let kind = chain.kind();
            for slot in chain.into_pending() {
                let first = known.get(&slot.index);
                let slot = shift.slot(slot);
                match first {
                    Some(first) => self.set_aside(first, kind, slot),
                    None => self.chains[*at].push(slot),
                }
            }
        }
        for repeat in other.own_ids.repeats {
            let SetAside { chain, kind, slot } = repeat.record;
            let (chain, slot) = (shift.chain(chain), shift.slot(slot));
            if let Some(first) = known.get(&repeat.first) {
                self.set_aside(first, kind, slot);
                continue;
            }
            self.own_ids.repeats.push(OwnRepeat {
                index: slot.index,
                first: repeat.first + shift.index,
                repetition: repeat.repetition,
                record: SetAside { chain, kind, slot },
            });
        }
        self.records += other.records;
        if other.contested.is_some() {
            self.keep_contested();
        }
    }

    fn set_aside(&mut self, first: &First, kind: Kind, slot: Slot) {
        let items = &self.encoded.items;
        self.own_ids
            .set_aside(self.spec, first, (kind, slot), items);
    }
}
