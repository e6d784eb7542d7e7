//! The statement of an edit: what it stores in the state of the bucket that it matches.

use std::collections::BTreeMap;

use bson::{Bson, DateTime, Document, RawDocument, RawDocumentBuf, doc};

use super::{edit_error::EditError, opened::OpenedBucket};
use crate::{
    bucket::{
        edits::{self, Edits, is_removed},
        packed::{ends, pack},
        record::Record,
        sealed::{AT, EDIT, FIRST, LAST, PACKED, PLACES, SEALED},
    },
    codec::raw::{RawWriter, kind::ARRAY},
    model::spec::{BucketSpec, ID_INDEX},
    stats::{StoredStats, Total},
};

/// What the path of an item takes in a statement, in bytes.
const PATH: usize = 64;

/// The items that an edit replaces, by their places: with a record, or with a mark.
pub(super) type Changed<'a, T> = BTreeMap<usize, (RawDocumentBuf, Option<&'a T>)>;

impl<T: Record> OpenedBucket<'_, T> {
    /// The command that replaces these items, and sets these fields of the bucket.
    pub(super) fn command(
        &self,
        changed: &Changed<'_, T>,
        own_fields: Option<Document>,
    ) -> Result<RawDocumentBuf, EditError> {
        let spec = T::SPEC;
        let edits = self.reader.edits();
        let removed = changed.iter().filter(|(index, (_, record))| {
            let item = self.items.get(**index);
            record.is_none() && item.is_some_and(|item| !self.is_removed(item))
        });
        let removed = u32::try_from(removed.count()).unwrap_or(u32::MAX);
        let mut set = own_fields.unwrap_or_default();
        let number = edits.number.saturating_add(1);
        if removed == 0 && edits != Edits::default() {
            // So a change stream shows that no record was removed: a mark among the items was one before.
            set.insert(format!("{}.{}", edits::EDITS, edits::NUMBER), number);
        } else {
            let removed = i64::from(edits.removed.saturating_add(removed));
            let all = doc! { edits::NUMBER: number, edits::REMOVED: removed };
            set.insert(edits::EDITS, all);
        }
        for name in self.held_for_none(changed) {
            set.insert(name, Vec::<Bson>::new());
        }
        let mut unset = Document::new();
        self.stats_after(changed)?
            .each(spec, |path, value| match value {
                Some(value) => drop(set.insert(path, value)),
                None => drop(unset.insert(path, "")),
            });
        let stats = bson_size(&set) + bson_size(&unset);
        let repacked = self.packed.map(|_| self.repacked(changed));
        let command = RawWriter::build(|writer| {
            writer.string("update", spec.collection());
            writer.bool("ordered", true);
            let updates = writer.begin_array("updates");
            let update = writer.begin_element(0);
            let filter = writer.begin_document("q");
            let items = || {
                changed
                    .values()
                    .map(|(item, _)| item.as_bytes().len() + PATH)
                    .sum()
            };
            let after = repacked.as_ref().map_or_else(items, Repacked::size);
            let places: Vec<usize> = changed.keys().copied().collect();
            self.write_filter(&places, after + stats, writer);
            writer.end(filter);
            let change = writer.begin_document("u");
            let sets = writer.begin_document("$set");
            if let Some(repacked) = &repacked {
                repacked.write(spec, changed.keys().copied(), edits, writer);
            } else {
                for (index, (item, _)) in changed {
                    writer.document(&format!("{}.{index}", spec.items()), item);
                }
            }
            write_all(writer, &set);
            writer.end(sets);
            if !unset.is_empty() {
                let unsets = writer.begin_document("$unset");
                write_all(writer, &unset);
                writer.end(unsets);
            }
            writer.end(change);
            writer.string("hint", ID_INDEX);
            writer.end(update);
            writer.end(updates);
        });
        Ok(command)
    }

    /// All items, packed again. Where no record is left, or nothing packs them, they are rows.
    fn repacked(&self, changed: &Changed<'_, T>) -> Repacked {
        let all = self.items.iter().enumerate();
        let all = all.map(|(index, item)| changed.get(&index).map_or(*item, |(item, _)| item));
        let all: Vec<&RawDocument> = all.collect();
        let left = all.iter().copied().filter(|item| !is_removed(item));
        let packed = ends(T::SPEC, left).and_then(|ends| Some((ends, pack(all.iter().copied())?)));
        match packed {
            Some((ends, packed)) => Repacked::Columns {
                packed,
                ends,
                // Since when, if it says so.
                at: self.sealed.and_then(|sealed| sealed.get_datetime(AT).ok()),
            },
            None => Repacked::Rows(RawWriter::build(|writer| {
                for (index, item) in all.iter().enumerate() {
                    writer.element(index, item.as_bytes());
                }
            })),
        }
    }

    /// The arrays of attributes that the bucket holds for no record any more: nothing of a removed record may
    /// be left.
    fn held_for_none(&self, changed: &Changed<'_, T>) -> Vec<&'static str> {
        let left =
            self.items
                .iter()
                .enumerate()
                .filter_map(|(index, item)| match changed.get(&index) {
                    Some((item, Some(_))) => Some(&**item),
                    Some((_, None)) => None,
                    None => (!self.is_removed(item)).then_some(*item),
                });
        let left: Vec<&RawDocument> = left.collect();
        let lacks = |name: &str| {
            let has_own = |item: &&RawDocument| matches!(item.get(name), Ok(Some(_)));
            !left.iter().all(has_own)
        };
        let held = |name: &str| {
            let mut shared = self.reader.shared_arrays().iter();
            shared.any(|held| held.element.name == name && !held.element.is_empty())
        };
        let arrays = T::SPEC.shared_arrays().map(|array| array.name);
        arrays.filter(|name| held(name) && !lacks(name)).collect()
    }

    /// The aggregates of the bucket after the edit.
    ///
    /// The model may read values as less than they are, and would count them wrong. An aggregate of such values stays as
    /// it is if the edit changes no value of it.
    fn stats_after(&self, changed: &Changed<'_, T>) -> Result<StoredStats, EditError> {
        let mut total = Total::new(T::SPEC, T::SPEC.size());
        if T::SPEC.aggregates().is_empty() {
            return total.finish().map_err(EditError::Overflow);
        }
        let mut add = |record: &T| {
            total.add_record(record.time(), |sink| record.visit_inputs(sink));
        };
        let mut read_as_less = BTreeMap::new();
        for (index, item) in self.items.iter().enumerate() {
            let new = changed.get(&index);
            if !self.is_removed(item) {
                match self.record(index) {
                    Ok(old) => {
                        self.add_read_as_less(index, &old, &mut read_as_less);
                        if new.is_none() {
                            add(&old);
                        }
                    }
                    // It goes.
                    Err(_) if new.is_some() => {}
                    Err(damage) => return Err(EditError::Damaged(damage)),
                }
            }
            if let Some((_, Some(record))) = new {
                add(record);
            }
        }
        let mut after = total.finish().map_err(EditError::Overflow)?;
        if read_as_less.is_empty() {
            return Ok(after);
        }
        let count = u32::try_from(self.items.len()).unwrap_or(u32::MAX);
        let Ok(stored) = StoredStats::read(T::SPEC, self.stored, count) else {
            return Ok(after);
        };
        let made = self.changed_inputs(changed);
        for (at, aggregate) in T::SPEC.aggregates().iter().enumerate() {
            let Some(path) = read_as_less
                .get(&aggregate.input)
                .filter(|_| aggregate.has_input())
            else {
                continue;
            };
            if made.change(aggregate) {
                let path = path.clone();
                return Err(EditError::ReadsLess { path });
            }
            after.take_from(&stored, at);
        }
        Ok(after)
    }
}

fn bson_size(fields: &Document) -> usize {
    RawDocumentBuf::try_from(fields).map_or(0, |raw| raw.as_bytes().len())
}

fn write_all(writer: &mut RawWriter, fields: &Document) {
    if let Ok(raw) = RawDocumentBuf::try_from(fields) {
        // Between the length and the final NUL.
        let bytes = raw.as_bytes();
        writer.elements(bytes.get(4..bytes.len() - 1).unwrap_or_default());
    }
}

/// The items of a sealed bucket after an edit.
enum Repacked {
    Columns {
        packed: Vec<u8>,
        ends: (DateTime, DateTime),
        /// Since when it is sealed, if it says so.
        at: Option<DateTime>,
    },
    /// As the elements of an array.
    Rows(RawDocumentBuf),
}

impl Repacked {
    fn size(&self) -> usize {
        match self {
            Self::Columns { packed, .. } => packed.len(),
            Self::Rows(rows) => rows.as_bytes().len(),
        }
    }

    fn write(
        &self,
        spec: &BucketSpec,
        places: impl Iterator<Item = usize>,
        edits: Edits,
        writer: &mut RawWriter,
    ) {
        match self {
            Self::Columns { packed, .. } => writer.binary(spec.items(), PACKED, packed),
            Self::Rows(rows) => writer.raw(ARRAY, spec.items(), rows.as_bytes()),
        }
        let sealed = writer.begin_document(SEALED);
        if let Self::Columns {
            ends: (first, last),
            at,
            ..
        } = self
        {
            writer.date(FIRST, first.timestamp_millis());
            writer.date(LAST, last.timestamp_millis());
            if let Some(at) = at {
                writer.date(AT, at.timestamp_millis());
            }
        }
        // A change stream shows only that all items are others.
        let edit = writer.begin_document(EDIT);
        writer.integer(edits::NUMBER, edits.number.saturating_add(1));
        let list = writer.begin_array(PLACES);
        for (at, index) in places.enumerate() {
            writer.integer(&at.to_string(), i64::try_from(index).unwrap_or(i64::MAX));
        }
        writer.end(list);
        writer.end(edit);
        writer.end(sealed);
    }
}
