//! Several batches become one, so that records of one bucket share a statement.

use super::{
    Batch,
    own_ids::{Shift, moved},
    slot::Slot,
};

impl Batch {
    /// Puts the records of another batch behind those of this one; their indexes grow by `offset`.
    ///
    /// A record whose key and id this batch has already is set aside, as it would be if it were pushed.
    ///
    /// Both are of one model. Neither may have a source, or have been planned from.
    ///
    /// ```
    /// # use bucket_core::write::Batch;
    /// fn joined(mut one: Batch, other: Batch) -> Batch {
    ///     let offset = one.records();
    ///     one.join(other, offset);
    ///     one
    /// }
    /// ```
    pub fn join(&mut self, other: Self, offset: usize) {
        let (items, rows) = (self.encoded.items.len(), self.records);
        self.encoded.items.extend_from_slice(&other.encoded.items);
        self.encoded.inputs.join(other.encoded.inputs);
        let ids = other.encoded.ids.into_iter();
        self.encoded.ids.extend(ids.map(|id| moved(id, items)));
        let shift = Shift {
            index: offset,
            bytes: items,
        };
        let repeats = self
            .own_ids
            .join(self.spec, other.own_ids, shift, &self.encoded.items);
        for chain in other.chains {
            let kind = chain.kind();
            let at = self.find_or_begin(chain.key(), kind, || chain.prefix().to_owned());
            for slot in chain.into_pending() {
                let index = slot.index + offset;
                if repeats.contains(&index) {
                    continue;
                }
                self.chains[at].push(Slot {
                    index,
                    item: moved(slot.item, items),
                    row: slot.row + rows,
                    ..slot
                });
            }
        }
        self.records += other.records;
    }
}
