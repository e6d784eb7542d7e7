//! What a statement asks of a bucket so that it brings no record a second time.

use super::{Action, Statement};
use crate::codec::raw::RawWriter;

impl Action {
    /// Whether it may append to a bucket with records: only then can that hold one of its own.
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

    /// The condition that no position is in the bucket already. A bucket without the field fulfils it,
    /// which it would not with `$lt`.
    fn write_is_behind(&self, writer: &mut RawWriter) {
        if let Some(positions) = self.positions {
            let field = writer.begin_document(positions.path);
            let not = writer.begin_document("$not");
            writer.int64("$gte", positions.first);
            writer.end(not);
            writer.end(field);
        }
    }

    /// The condition that no record id is in the bucket already. The unique index does not see it: to
    /// it an id that stands twice in one document is there once.
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
