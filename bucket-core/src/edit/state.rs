//! The state of a bucket that the statement of an edit matches: the one that was read.
//!
//! Appends change the count, edits their number. The items, what the bucket holds for them and its size show a bucket that
//! was removed and opened again, and what other tools have changed.

use bson::RawDocument;

use super::opened::OpenedBucket;
use crate::{
    bucket::{
        edits::{self, Edits},
        record::Record,
        sealed::{PACKED, SEALED},
    },
    codec::raw::{Element, RawWriter, elements, kind::UNDEFINED},
    model::{size::MAX_DOCUMENT_BYTES, spec::ID},
    read::ReadKey,
};

/// The most items that a statement names one by one. The server goes through the array for each of them.
const MOST: usize = 16;
/// A command takes this much, with what the driver adds to it.
const MAX_COMMAND: usize = MAX_DOCUMENT_BYTES - 64 * 1024;
/// The most bytes of an item of which a statement cannot have all.
const PART: usize = 1_024;

impl<T: Record> OpenedBucket<'_, T> {
    /// Writes the filter of a statement that changes the items at these places, and stores about this many bytes.
    pub(super) fn write_filter(&self, places: &[usize], after: usize, writer: &mut RawWriter) {
        let spec = T::SPEC;
        if let Some(id) = self.field(ID) {
            writer.raw(id.kind, ID, id.bytes);
        }
        writer.elements(ReadKey::of::<T>(&self.key).elements());
        writer.integer(spec.names().count, i64::from(self.count));
        let edits = self.reader.edits();
        if edits == Edits::default() {
            exists_not(writer, edits::EDITS);
        } else {
            let number = format!("{}.{}", edits::EDITS, edits::NUMBER);
            writer.integer(&number, edits.number);
        }
        if spec.max_bytes().is_some() {
            self.write_same(spec.names().bytes, writer);
        }
        if spec.dated_by().is_some() {
            self.write_same(spec.names().expire_from, writer);
        }
        for array in spec.shared_arrays() {
            self.write_same(array.name, writer);
        }
        match self.packed {
            Some(packed) => self.write_same_packed(packed, after, writer),
            None => self.write_same_items(places, after, writer),
        }
    }

    fn write_same_packed(&self, packed: &[u8], after: usize, writer: &mut RawWriter) {
        let spec = T::SPEC;
        if packed.len() + after < MAX_DOCUMENT_BYTES * 2 / 3 {
            writer.binary(spec.items(), PACKED, packed);
            return;
        }
        // With those after it they may not fit into a command.
        let same = writer.begin_document(spec.items());
        writer.string("$type", "binData");
        writer.end(same);
        if let Some(sealed) = self.sealed {
            let same = writer.begin_document(SEALED);
            writer.document("$eq", sealed);
            writer.end(same);
        }
    }

    fn write_same_items(&self, places: &[usize], after: usize, writer: &mut RawWriter) {
        let spec = T::SPEC;
        let bytes = self.stored.as_bytes().len();
        // The aggregates are those of all of them.
        let decides = !spec.aggregates().is_empty() && bytes < MAX_DOCUMENT_BYTES / 2;
        if (decides || places.len() > MOST) && bytes + after < MAX_COMMAND {
            let same = writer.begin_document(spec.items());
            let all = writer.begin_array("$eq");
            for (index, item) in self.items.iter().enumerate() {
                writer.element(index, item.as_bytes());
            }
            writer.end(all);
            writer.end(same);
            return;
        }
        let items = || {
            let places = places.iter().take(MOST);
            places.filter_map(|index| Some((*index, *self.items.get(*index)?)))
        };
        let before: usize = items().map(|(_, item)| item.as_bytes().len()).sum();
        for (index, item) in items() {
            let path = format!("{}.{index}", spec.items());
            if before + after < MAX_COMMAND {
                let same = writer.begin_document(&path);
                writer.document("$eq", item);
                writer.end(same);
            } else {
                write_parts(&path, item, writer);
            }
        }
    }

    /// A field of the bucket as it is stored, or none.
    fn write_same(&self, name: &str, writer: &mut RawWriter) {
        match self.field(name) {
            Some(field) => equals(writer, name, field),
            None => exists_not(writer, name),
        }
    }

    fn field(&self, name: &str) -> Option<Element<'_>> {
        let mut fields = elements(self.stored).map_while(Result::ok);
        fields.find(|field| field.name == name)
    }
}

/// The short fields of an item, its time and its id among them: of one that does not fit into a command beside the one
/// that takes its place.
fn write_parts(path: &str, item: &RawDocument, writer: &mut RawWriter) {
    let mut left = PART;
    for field in elements(item).map_while(Result::ok) {
        let is_path = field.name.contains('.') || field.name.starts_with('$');
        let size = field.bytes.len() + path.len() + field.name.len();
        if is_path || field.name.is_empty() || field.kind == UNDEFINED || size > left {
            continue;
        }
        left -= size;
        equals(writer, &format!("{path}.{}", field.name), field);
    }
}

fn equals(writer: &mut RawWriter, name: &str, value: Element<'_>) {
    let same = writer.begin_document(name);
    writer.raw(value.kind, "$eq", value.bytes);
    writer.end(same);
}

fn exists_not(writer: &mut RawWriter, name: &str) {
    let none = writer.begin_document(name);
    writer.bool("$exists", false);
    writer.end(none);
}
