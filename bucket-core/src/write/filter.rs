//! The filter of a statement: the buckets that it matches.

use super::{
    Action, Put, Statement,
    change::{Change, Part, Render},
};
use crate::{
    bucket::sealed::SEALED,
    codec::raw::RawWriter,
    model::{form::OwnField, spec::ID},
};

/// The longest array whose places the filter checks. The server looks at every earlier item, which for
/// buckets of hundreds costs more than the rest of the filter. Longer arrays rely on the count only.
const MAX_PLACE: u32 = 100;

impl Statement<'_> {
    /// Writes the filter as the field `q`.
    pub(super) fn write_filter(&self, writer: &mut RawWriter) {
        let filter = writer.begin_document("q");
        match self.action {
            Action::Append { id } | Action::Fill { id } => {
                writer.string(ID, id);
                writer.elements(self.key);
                if let Action::Fill { .. } = self.action {
                    self.write_must_exist(writer);
                }
                self.write_room(writer, self.kind.size());
            }
            Action::Open { id, behind } | Action::Reserve { id, behind } => {
                self.write_none_after(writer, id, behind);
            }
            Action::Place { id, behind } => {
                self.write_none_after(writer, id, behind);
                let none = writer.begin_array("$nor");
                let reserved = writer.begin_element(0);
                self.write_is_reserved(writer);
                writer.end(reserved);
                writer.end(none);
            }
            Action::Begin { id, reserved } => {
                writer.string(ID, id);
                writer.elements(self.key);
                self.write_must_exist(writer);
                if *reserved {
                    self.write_is_reserved(writer);
                    self.write_array(writer, 0);
                } else {
                    self.write_exactly(writer, 0);
                }
            }
            Action::TakeOver { id } => {
                writer.string(ID, id);
                writer.elements(self.key);
                self.write_must_exist(writer);
                self.write_is_reserved(writer);
            }
            Action::Put(put) => {
                if !self.spec.object_ids() {
                    writer.string(ID, &put.id);
                }
                writer.elements(self.key);
                let statement = self;
                let mut equalities = Equalities {
                    statement,
                    put,
                    writer,
                };
                self.identity(put, &mut equalities);
                if !put.fresh && !put.lone {
                    self.write_must_exist(writer);
                }
                match put.fills_from {
                    // The statement that fills a bucket also marks it, so this one must leave room.
                    None if self.kind.marks() => {
                        self.write_room(writer, put.size.saturating_sub(1));
                    }
                    None => self.write_room(writer, put.size),
                    Some(count) => self.write_exactly(writer, count),
                }
                if self.spec.packs() && !self.kind.closes_in_order() {
                    // It has room, but a later record may be in the bucket after it.
                    let none = writer.begin_document(SEALED);
                    writer.bool("$exists", false);
                    writer.end(none);
                }
            }
            Action::Close { id, number } => {
                if self.spec.object_ids() {
                    writer.integer(self.spec.names().number, *number);
                } else {
                    writer.string(ID, id);
                }
                writer.elements(self.key);
                if self.closes_for_good() {
                    self.write_must_exist(writer);
                }
                if let Some(mark) = self.kind.mark() {
                    writer.bool(mark.name(self.spec.names()), false);
                }
            }
        }
        self.write_guards(writer);
        writer.end(filter);
    }

    /// The condition that a bucket of the key sorts after a new one, which must not be the case.
    fn write_none_after(&self, writer: &mut RawWriter, id: &str, behind: &str) {
        writer.elements(self.key);
        let later = writer.begin_document(ID);
        writer.string("$gt", behind);
        if behind != id {
            // A bucket with the new id would match and take the records whether it has room or not.
            writer.string("$ne", id);
        }
        writer.end(later);
    }

    /// The condition that the bucket is reserved. Only a reservation stores a count of that type.
    fn write_is_reserved(&self, writer: &mut RawWriter) {
        let count = writer.begin_document(self.spec.names().count);
        writer.string("$type", "long");
        writer.int32("$lte", 0);
        writer.end(count);
    }

    /// A key field once more: to open a bucket the server would have to set it twice, which it refuses (54).
    /// So a bucket that was deleted in the meantime is not opened again with a later record.
    fn write_must_exist(&self, writer: &mut RawWriter) {
        let both = writer.begin_array("$and");
        let again = writer.begin_element(0);
        writer.elements(self.key);
        writer.end(again);
        writer.end(both);
    }

    /// The condition that the items fit into a bucket of this size: the manual's condition on the count, and
    /// the same on the array itself, so that not even a bucket with a wrong count is filled beyond its
    /// capacity.
    fn write_room(&self, writer: &mut RawWriter, size: u32) {
        let names = self.spec.names();
        let taken = u32::try_from(self.items.len()).unwrap_or(u32::MAX);
        let room = size.saturating_sub(taken);
        let count = writer.begin_document(names.count);
        if self.spec.form().reserves() {
            // A bucket without records may be reserved: another statement stores the first ones.
            writer.int32("$gt", 0);
        }
        if taken == 1 {
            writer.int32("$lt", int32(size));
        } else {
            writer.int32("$lte", int32(room));
        }
        writer.end(count);
        if let Some(max) = self.spec.max_bytes() {
            let bytes = writer.begin_document(names.bytes);
            // The last record may take the bucket past the limit. A bucket that is marked when it is full
            // must stay below it.
            let own = if self.kind.marks() {
                self.bytes
            } else {
                self.bytes.saturating_sub(self.last_bytes)
            };
            writer.int64("$lt", i64::from(max).saturating_sub_unsigned(own));
            writer.end(bytes);
        }
        self.write_array(writer, room);
    }

    /// The condition that the bucket is the one that was seen, because its contents decide on the mark. It is
    /// a range, because an equality would be set in a bucket that is opened.
    fn write_exactly(&self, writer: &mut RawWriter, count: u32) {
        let range = writer.begin_document(self.spec.names().count);
        writer.int32("$gte", int32(count));
        writer.int32("$lte", int32(count));
        writer.end(range);
        self.write_array(writer, count);
    }

    /// The condition that the array has at most `room` items.
    fn write_array(&self, writer: &mut RawWriter, room: u32) {
        let array = writer.begin_document(self.spec.items());
        writer.string("$type", "array");
        writer.end(array);
        if room <= MAX_PLACE && self.spec.asks_for_places() {
            let beyond = writer.begin_document(&format!("{}.{room}", self.spec.items()));
            writer.bool("$exists", false);
            writer.end(beyond);
        }
    }
}

/// The identity of a bucket as conditions, which are set when a bucket is opened.
struct Equalities<'s, 'w> {
    statement: &'s Statement<'s>,
    put: &'s Put,
    writer: &'w mut RawWriter,
}

impl<'a> Render<'a> for Equalities<'_, '_> {
    fn change(&mut self, change: Change<'a>) {
        let path = &*change.path;
        match (change.part, self.statement.kind.in_time()) {
            (Part::Own(OwnField::Start), Some(in_time)) if self.put.lone => {
                // The bucket is only remembered: it must itself say which records it covers.
                let latest = self.statement.latest.timestamp_millis();
                let start = self.writer.begin_document(path);
                self.writer.date("$lte", latest);
                let earliest = latest.saturating_sub(in_time.max_duration);
                self.writer.date("$gt", earliest);
                self.writer.end(start);
            }
            (Part::Own(OwnField::Part), _) if self.put.part == 0 => {
                let first = self.writer.begin_document(path);
                self.writer.bool("$exists", false);
                self.writer.end(first);
            }
            _ => change.value.write(self.writer, path),
        }
    }
}

/// A capacity as the server's 32-bit integer; the derive keeps it far below the limit.
fn int32(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}
