//! Several batches become one, so that records of one bucket share a statement.

use super::{Batch, batch::Slot};
use crate::record::Record;

impl<T: Record> Batch<T> {
    /// Puts the records of another batch behind those of this one; their indexes grow by `offset`.
    ///
    /// Neither batch may have a source, or have been planned from.
    ///
    /// ```
    /// # use bucket_core::{Record, write::Batch};
    /// fn joined<T: Record>(mut one: Batch<T>, other: Batch<T>) -> Batch<T> {
    ///     let offset = one.records();
    ///     one.join(other, offset);
    ///     one
    /// }
    /// ```
    pub fn join(&mut self, other: Self, offset: usize) {
        let (items, rows) = (self.encoded.items.len(), self.records);
        self.encoded.items.extend_from_slice(&other.encoded.items);
        self.encoded.inputs.join(other.encoded.inputs);
        for chain in other.chains {
            let kind = chain.kind();
            let at = self.find_or_begin(chain.key(), kind, || chain.prefix().to_owned());
            for slot in chain.into_pending() {
                self.chains[at].push(Slot {
                    index: slot.index + offset,
                    item: slot.item.start + items..slot.item.end + items,
                    row: slot.row + rows,
                    ..slot
                });
            }
        }
        self.records += other.records;
    }
}
