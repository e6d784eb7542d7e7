//! One statement as an element of `updates`: its filter, its update, and what the server is to know of both.

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
        // Without the hint the server would weigh the index on open buckets too, which is full of
        // entries just deleted where a key's buckets fill fast.
        writer.string("hint", &self.action.index(self.spec));
    }
}
