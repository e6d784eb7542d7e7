//! One update statement as bytes.

use crate::{
    raw::RawWriter,
    spec::{BucketSpec, COUNT, ID},
};

/// The server's name of the index on `_id`. Without the hint it would weigh the index on open
/// buckets too, which is full of entries just deleted where a key's buckets fill fast.
const ID_INDEX: &str = "_id_";

/// What a statement does; see the [module](super) for the three forms.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Appends to the bucket of this id if it is there and has room. It misses without a trace,
    /// so it is sent alone.
    Append {
        /// The `_id` of the bucket.
        id: String,
    },
    /// Appends to the bucket of this id, which is there: where it is full, the miss shows as a
    /// duplicate key.
    Fill {
        /// The `_id` of the bucket.
        id: String,
    },
    /// Opens the bucket of this id.
    Open {
        /// The `_id` of the new bucket.
        id: String,
    },
}

/// A statement before it is encoded: an action, a key and the items it brings.
#[derive(Debug, Clone)]
pub struct Statement<'a> {
    /// The model.
    pub spec: &'static BucketSpec,
    /// The key fields as BSON elements.
    pub key: &'a [u8],
    /// What to do.
    pub action: &'a Action,
    /// The items, each a BSON document; at least one, at most the capacity.
    pub items: &'a [&'a [u8]],
}

impl Statement<'_> {
    /// Writes the statement's fields into a document that the caller has begun.
    pub(super) fn write(&self, writer: &mut RawWriter) {
        self.write_filter(writer);
        self.write_update(writer);
        match self.action {
            Action::Append { .. } => writer.string("hint", ID_INDEX),
            Action::Fill { .. } => {
                writer.bool("upsert", true);
                writer.string("hint", ID_INDEX);
            }
            Action::Open { .. } => {
                writer.bool("upsert", true);
                writer.string("hint", self.spec.pages_index_name());
            }
        }
    }

    fn write_filter(&self, writer: &mut RawWriter) {
        let filter = writer.begin_document("q");
        match self.action {
            Action::Append { id } | Action::Fill { id } => {
                writer.string(ID, id);
                writer.elements(self.key);
                self.write_room(writer);
            }
            Action::Open { id } => {
                writer.elements(self.key);
                let behind = writer.begin_document(ID);
                writer.string("$gt", id);
                writer.end(behind);
            }
        }
        writer.end(filter);
    }

    /// The condition that the items fit: the manual's, by the count, and the same by the array
    /// itself, so that not even a bucket with a wrong count is filled beyond its capacity.
    fn write_room(&self, writer: &mut RawWriter) {
        let capacity = self.spec.capacity();
        let taken = u32::try_from(self.items.len()).unwrap_or(u32::MAX);
        let room = capacity.saturating_sub(taken);
        let count = writer.begin_document(COUNT);
        if taken == 1 {
            writer.int32("$lt", int32(capacity));
        } else {
            writer.int32("$lte", int32(room));
        }
        writer.end(count);
        let array = writer.begin_document(self.spec.items());
        writer.string("$type", "array");
        writer.end(array);
        let beyond = writer.begin_document(&format!("{}.{room}", self.spec.items()));
        writer.bool("$exists", false);
        writer.end(beyond);
    }

    fn write_update(&self, writer: &mut RawWriter) {
        let update = writer.begin_document("u");
        let push = writer.begin_document("$push");
        if let [item] = self.items {
            writer.document_bytes(self.spec.items(), item);
        } else {
            let field = writer.begin_document(self.spec.items());
            let each = writer.begin_array("$each");
            for (index, item) in self.items.iter().enumerate() {
                writer.element(index, item);
            }
            writer.end(each);
            writer.end(field);
        }
        writer.end(push);
        let inc = writer.begin_document("$inc");
        writer.int32(COUNT, i32::try_from(self.items.len()).unwrap_or(i32::MAX));
        writer.end(inc);
        if let Action::Open { id } = self.action {
            // Not `$setOnInsert`: on a match this must fail, not do nothing.
            let set = writer.begin_document("$set");
            writer.string(ID, id);
            writer.end(set);
        }
        writer.end(update);
    }
}

/// A capacity as the server's 32-bit integer; the derive keeps it far below the limit.
fn int32(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}
