//! A record that goes to another bucket: what is left in its place, and its id there if it comes back.

use std::collections::BTreeMap;

use bson::RawDocumentBuf;

use super::{
    edit_error::EditError,
    opened::{OpenedBucket, OpenedRecord},
    replacement::same_id,
    unknown::Path,
    which::{Sought, Which},
};
use crate::{
    bucket::{edits::KeptId, record::Record},
    codec::raw::elements,
    model::spec::ID,
    write::unchecked_item,
};

impl<T: Record> OpenedRecord<'_, T> {
    /// The command that removes the record because it goes to another bucket as `moved`, which is inserted in
    /// the same transaction.
    ///
    /// # Errors
    ///
    /// [`EditError`] if the record cannot move: its id changes, or an insert would lose fields of it.
    pub fn take_out(&self, moved: &T) -> Result<RawDocumentBuf, EditError> {
        let (spec, bucket) = (T::SPEC, &self.bucket);
        if let Some(old) = bucket.items.get(self.index) {
            let new = unchecked_item(moved).map_err(EditError::Encode)?;
            if !same_id(spec, &new, old) {
                return Err(EditError::Id);
            }
            if let Some(Path(name)) = self.unknown(old)?.paths.into_iter().next() {
                return Err(EditError::UnknownField { name });
            }
        }
        // Ids are unique within a key.
        let id = match bucket.place(self.index) {
            Some(place) if moved.key() == bucket.key => place,
            _ => KeptId::Own,
        };
        let mark = bucket.mark(self.index, id)?;
        bucket.command(&BTreeMap::from([(self.index, (mark, None))]), None)
    }

    /// The record by its id; `None` if it has none.
    #[must_use]
    pub fn by_id(&self) -> Option<Which> {
        let item = self.bucket.items.get(self.index)?;
        let id = item.get(T::SPEC.unique()?).ok()??;
        Some(Which(Sought::Id(id.try_into().ok()?)))
    }
}

impl<T: Record> OpenedBucket<'_, T> {
    /// The command that takes the record id from the mark of a removed record, so that the key can have a
    /// record of this id again; `None` if no mark has it.
    ///
    /// # Errors
    ///
    /// [`EditError`]; nothing was sent.
    pub fn release(&self, which: &Which) -> Result<Option<RawDocumentBuf>, EditError> {
        let index = self.index_of(which);
        let index = index.filter(|index| {
            let item = self.items.get(*index);
            item.is_some_and(|item| self.is_removed(item))
        });
        let Some((index, place)) = index.and_then(|index| Some((index, self.place(index)?))) else {
            return Ok(None);
        };
        let mark = self.mark(index, place)?;
        self.command(&BTreeMap::from([(index, (mark, None))]), None)
            .map(Some)
    }

    /// The place of an item, instead of its record id.
    pub(super) fn place(&self, index: usize) -> Option<KeptId<'_>> {
        let mut stored = elements(self.stored).map_while(Result::ok);
        let bucket = stored.find(|element| element.name == ID)?;
        Some(KeptId::Place { bucket, index })
    }
}
