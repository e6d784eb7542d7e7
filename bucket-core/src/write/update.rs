//! One statement as an element of `updates`: its filter, its update, and its options.

use super::{Statement, operators, pipeline};
use crate::codec::raw::RawWriter;

impl Statement<'_> {
    /// Writes the statement's fields into a document that the caller has begun.
    pub(super) fn write(&self, writer: &mut RawWriter) {
        self.write_filter(writer);
        if !self.items.is_empty() && pipeline::is_needed(self.spec) {
            pipeline::write(self, writer);
        } else {
            operators::write(self, writer);
        }
        if self.action.upserts() || self.closes_for_good() {
            writer.bool("upsert", true);
        }
        // Without the hint the server would also consider the index on open buckets, which is full of deleted
        // entries if a key's buckets fill fast.
        writer.string("hint", &self.action.index(self.spec));
    }
}
