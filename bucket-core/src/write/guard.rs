//! The conditions that keep a statement from storing a record twice.

use super::{Action, Statement};
use crate::codec::raw::RawWriter;

impl Action {
    /// Whether it may append to a bucket with records: only such a bucket can hold a record of the statement.
    pub(super) fn is_guarded(&self) -> bool {
        matches!(
            self,
            Self::Append { .. } | Self::Fill { .. } | Self::Put { .. }
        )
    }
}

impl Statement<'_> {
    pub(super) fn write_guards(&self, writer: &mut RawWriter) {
        if self.action.is_guarded() {
            self.write_is_behind(writer);
            self.write_has_none_of(writer);
        }
    }

    /// The condition that no position is already in the bucket. It matches a bucket without the field, which
    /// `$lt` would not.
    fn write_is_behind(&self, writer: &mut RawWriter) {
        if let Some(positions) = self.positions {
            let field = writer.begin_document(positions.path);
            let not = writer.begin_document("$not");
            writer.int64("$gte", positions.first);
            writer.end(not);
            writer.end(field);
        }
    }

    /// The condition that no record id is already in the bucket. The unique index cannot check this: an id
    /// that appears twice in one document is one index entry.
    fn write_has_none_of(&self, writer: &mut RawWriter) {
        let Some(path) = self.spec.unique_path() else {
            return;
        };
        let field = writer.begin_document(&path);
        if let [id] = self.ids {
            writer.value_as("$ne", id);
        } else {
            let none_of = writer.begin_array("$nin");
            for (index, id) in self.ids.iter().enumerate() {
                writer.value_of(index, id);
            }
            writer.end(none_of);
        }
        writer.end(field);
    }
}
