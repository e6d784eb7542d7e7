//! One update statement as bytes.

use bson::DateTime;

use super::{
    Action, Put,
    change::{Change, Part, Render},
    operators, pipeline,
};
use crate::{
    fold::Fold,
    form::{Kind, OwnField},
    raw::RawWriter,
    spec::{BucketSpec, ID},
};

/// The longest array whose places are asked for: the server looks into every item before, which in a
/// bucket of hundreds costs more than all the rest of the filter. Beyond, the count is all there is.
const MAX_PLACE: u32 = 100;

/// A statement before it is encoded: an action, a key and the items it brings.
#[derive(Debug)]
pub struct Statement<'a> {
    pub(super) spec: &'static BucketSpec,
    /// What the chain stands for.
    pub(super) kind: Kind,
    /// The key fields as BSON elements.
    pub(super) key: &'a [u8],
    /// What to do.
    pub(super) action: &'a Action,
    /// The items, each a BSON document; none where the action brings no records.
    pub(super) items: &'a [&'a [u8]],
    /// Their ids, each a BSON element, where the model has record ids.
    pub(super) ids: &'a [&'a [u8]],
    /// What the items add to the aggregates.
    pub(super) fold: Fold<'a>,
    /// The size of the items as it is counted against `max_bytes`.
    pub(super) bytes: u64,
    /// The size of the last of them.
    pub(super) last_bytes: u64,
    /// The time of the latest record.
    pub(super) latest: DateTime,
    /// The time by the clock, for models that keep it.
    pub(super) now: DateTime,
    /// Where the records come from, if that is kept.
    pub(super) positions: Option<Positions<'a>>,
}

/// The positions of a statement's records in their source.
#[derive(Debug, Clone, Copy)]
pub(super) struct Positions<'a> {
    /// The field that keeps the last one.
    pub(super) path: &'a str,
    pub(super) first: i64,
    pub(super) last: i64,
}

impl Statement<'_> {
    /// At most the size of the encoded statement, in bytes.
    pub(super) fn size(&self) -> usize {
        let items: usize = self.items.iter().map(|item| item.len() + 8).sum();
        let ids: usize = self.ids.iter().map(|id| id.len() + 8).sum();
        let names = self.spec.names();
        let paths = self.spec.aggregates().iter();
        let paths: usize = paths.map(|aggregate| aggregate.path.len() + 40).sum();
        let shared = self.shared_size();
        items
            + shared
            + ids
            + 7 * self.key.len()
            + paths
            + self.fold.size()
            + 3 * self.positions.map_or(0, |positions| positions.path.len())
            + 8 * (names.count.len() + self.spec.items().len())
            + 2 * self.spec.dated_by().map_or(0, str::len)
            + 2_048
    }

    /// At most what the statement has beside the items themselves to say what buckets hold for them:
    /// each has its arrays in it already, and with others than the one before it has them once more.
    fn shared_size(&self) -> usize {
        let arrays = self.spec.shared_arrays();
        let names: usize = arrays.map(|array| 3 * array.name.len() + 160).sum();
        if names == 0 {
            return 0;
        }
        // A bucket that is opened holds that of the first one.
        let first = self.items.first().map_or(0, |item| item.len() + names);
        let items = self.items.iter();
        first + items.map(|item| item.len() + names + 80).sum::<usize>()
    }

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

    fn write_filter(&self, writer: &mut RawWriter) {
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
                    // The statement that fills a bucket also marks it: this one must leave room.
                    None if self.kind.marks() => {
                        self.write_room(writer, put.size.saturating_sub(1));
                    }
                    None => self.write_room(writer, put.size),
                    Some(count) => self.write_exactly(writer, count),
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

    /// The condition that a bucket of the key is after the place of a new one, which must not be.
    fn write_none_after(&self, writer: &mut RawWriter, id: &str, behind: &str) {
        writer.elements(self.key);
        let later = writer.begin_document(ID);
        writer.string("$gt", behind);
        if behind != id {
            // That one would match and take the records whether it has room or not.
            writer.string("$ne", id);
        }
        writer.end(later);
    }

    /// The condition that the bucket is reserved. Nobody but who reserves one stores a count of that type.
    fn write_is_reserved(&self, writer: &mut RawWriter) {
        let count = writer.begin_document(self.spec.names().count);
        writer.string("$type", "long");
        writer.int32("$lte", 0);
        writer.end(count);
    }

    /// A key field once more: to open a bucket the server would have to set it twice, which it
    /// refuses (54). So one that was deleted meanwhile is not begun again in its middle.
    fn write_must_exist(&self, writer: &mut RawWriter) {
        let both = writer.begin_array("$and");
        let again = writer.begin_element(0);
        writer.elements(self.key);
        writer.end(again);
        writer.end(both);
    }

    /// The condition that the items fit into a bucket of this size: the manual's, by the count,
    /// and the same by the array itself, so that not even a bucket with a wrong count is filled
    /// beyond its capacity.
    fn write_room(&self, writer: &mut RawWriter, size: u32) {
        let names = self.spec.names();
        let taken = u32::try_from(self.items.len()).unwrap_or(u32::MAX);
        let room = size.saturating_sub(taken);
        let count = writer.begin_document(names.count);
        if self.spec.form().reserves() {
            // One without records may be reserved: another statement brings the first ones.
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
            // The bucket may pass the limit with the last of the records; one that is marked when it
            // is full must stay below it.
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

    /// The condition that the bucket is the one that was seen: what is in it decides on the mark.
    /// A range, because an equality would be planted in a bucket that is opened.
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

    /// Whether this closes a bucket on which the number of the next one depends: where it is gone, or
    /// closed already, the statement is refused and stops those behind it.
    fn closes_for_good(&self) -> bool {
        matches!(self.action, Action::Close { .. }) && self.kind.builds_on_full()
    }
}

/// What identifies a bucket as conditions, which are set where one is opened.
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
                // By hearsay: the bucket itself says which records it covers.
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
