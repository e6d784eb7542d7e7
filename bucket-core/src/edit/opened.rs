//! A bucket that was read to be edited: its records, and the removal of some of them.

use std::collections::BTreeMap;

use bson::{Bson, DateTime, RawBsonRef, RawDocument, RawDocumentBuf, doc};

use super::{
    edit_error::EditError,
    which::{Sought, Which},
};
use crate::{
    attribute::RecordFilter,
    bucket::{
        self, BucketRows, Head, ItemReader,
        edits::{KeptId, in_place_of},
        id::Place,
        record::Record,
    },
    codec::raw::printed_id,
    error::{Damage, DamagedBucket},
    model::spec::{BucketSpec, ID},
    read::{Live, ReadKey, RecordRef, Referenced},
    time::range::TimeRange,
    write::identity,
};

/// A bucket that was read to be edited.
#[derive(Debug)]
pub struct OpenedBucket<'a, T: Record> {
    pub(super) key: T::Key,
    /// With its items as rows.
    pub(super) stored: &'a RawDocument,
    /// Its items as they are stored, if they are packed.
    pub(super) packed: Option<&'a [u8]>,
    /// What it says of that.
    pub(super) sealed: Option<&'a RawDocument>,
    pub(super) head: Head,
    pub(super) count: u32,
    pub(super) reader: ItemReader<'a>,
    pub(super) items: Vec<&'a RawDocument>,
}

/// A record in a bucket that was read to be edited.
#[derive(Debug)]
pub struct OpenedRecord<'a, T: Record> {
    pub(super) bucket: OpenedBucket<'a, T>,
    pub(super) index: usize,
}

/// What a search for a record found in a bucket.
#[derive(Debug)]
pub enum Found<'a, T: Record> {
    /// The record.
    Record(Box<OpenedRecord<'a, T>>),
    /// It was removed.
    Removed,
    /// Its place has another record, or the record was edited since it was read.
    Changed,
    /// There is no such record.
    Nothing,
}

impl<'a, T: Record> OpenedBucket<'a, T> {
    /// Reads a bucket of this key.
    ///
    /// # Errors
    ///
    /// [`DamagedBucket`] if it is not a bucket of the model.
    pub fn read(key: &T::Key, bucket: &'a BucketRows<'a>) -> Result<Self, DamagedBucket> {
        let read = Self::read_parts(key, &bucket.rows, (bucket.packed, bucket.sealed));
        read.map_err(|damage| DamagedBucket::new(printed_id(&bucket.rows), damage))
    }

    fn read_parts(
        key: &T::Key,
        stored: &'a RawDocument,
        (packed, sealed): (Option<&'a [u8]>, Option<&'a RawDocument>),
    ) -> Result<Self, Damage> {
        let spec = T::SPEC;
        let head = bucket::head(spec, stored)?;
        let mut items = Vec::with_capacity(head.capacity(spec));
        for item in bucket::items(spec, stored)? {
            match item.map_err(bucket::bson_damage)? {
                RawBsonRef::Document(item) => items.push(item),
                _ => return Err(bucket::wrong_field(spec.items(), "an array of documents")),
            }
        }
        Ok(Self {
            key: key.clone(),
            stored,
            packed,
            sealed,
            count: head.check_count(items.len())?,
            reader: ItemReader::new(spec, stored)?.at(head.place),
            head,
            items,
        })
    }

    /// Finds a record in it, among those that are shown.
    #[must_use]
    pub fn find(self, which: &Which, live: &Live) -> Found<'a, T> {
        let index = match &which.0 {
            Sought::Id(_) => match self.index_of(which) {
                Some(index) => index,
                None => return Found::Nothing,
            },
            Sought::Reference(reference) => {
                let key = ReadKey::of::<T>(&self.key);
                let Ok(target) = reference.target(T::SPEC, &key) else {
                    return Found::Nothing;
                };
                let index = self.index_at(target.place, target.index);
                let Some((index, item)) =
                    index.and_then(|index| Some((index, self.items.get(index)?)))
                else {
                    return Found::Nothing;
                };
                if self.is_removed(item) {
                    return Found::Removed;
                }
                if !target.is(item, &self.reader) {
                    return Found::Changed;
                }
                index
            }
            Sought::Unreadable(_) => return Found::Nothing,
        };
        if self
            .items
            .get(index)
            .is_some_and(|item| self.is_removed(item))
        {
            return Found::Removed;
        }
        let time = item_time_of(T::SPEC, &self.items, index);
        if time.is_some_and(|time| !self.shows(time, live)) {
            return Found::Nothing;
        }
        Found::Record(Box::new(OpenedRecord {
            bucket: self,
            index,
        }))
    }

    /// The span of time of the bucket that an item was stored in.
    pub(super) fn span_of(&self, index: usize) -> (DateTime, DateTime) {
        let origins = self.reader.origins();
        let merged = origins.and_then(|origins| origins.span_of(index));
        let fields = &self.head.fields;
        merged.unwrap_or((fields.start, fields.end))
    }

    /// The index of the item that is at this index of the bucket at this place, which may be merged with others.
    fn index_at(&self, place: Place, index: usize) -> Option<usize> {
        let Some(origins) = self.reader.origins() else {
            return Some(index);
        };
        let index = origins.index_of(place, u32::try_from(index).ok()?)?;
        usize::try_from(index).ok()
    }

    /// The index of the item, a record or a mark, with this record id.
    pub(super) fn index_of(&self, which: &Which) -> Option<usize> {
        let (Sought::Id(id), Some(name)) = (&which.0, T::SPEC.unique()) else {
            return None;
        };
        let is_it = |item: &&RawDocument| {
            item.get(name)
                .ok()
                .flatten()
                .is_some_and(|own| is_id(own, id))
        };
        self.items.iter().position(is_it)
    }

    /// The records in a range of time that are shown and meet the filter, and where they are.
    ///
    /// # Errors
    ///
    /// [`DamagedBucket`] if one of the bucket's records does not decode.
    pub fn between(
        &self,
        range: TimeRange,
        filter: Option<&RecordFilter>,
        live: &Live,
    ) -> Result<Vec<(usize, T)>, DamagedBucket> {
        let mut found = Vec::new();
        for (index, item) in self.items.iter().enumerate() {
            if self.is_removed(item) {
                continue;
            }
            let record = self.record(index)?;
            let shared = self.reader.shared_arrays();
            let is_asked = filter.is_none_or(|filter| filter.matches(item, shared));
            if is_asked && range.contains(record.time()) && self.shows(record.time(), live) {
                found.push((index, record));
            }
        }
        Ok(found)
    }

    /// Its records, each with its reference.
    ///
    /// # Errors
    ///
    /// [`DamagedBucket`] if one of them does not decode.
    pub fn referenced(&self) -> Result<Vec<Referenced<T>>, DamagedBucket> {
        let key = ReadKey::of::<T>(&self.key);
        let left = self.items.iter().enumerate();
        let left = left.filter(|(_, item)| !self.is_removed(item));
        let left = left.filter_map(|(index, item)| {
            let reference = RecordRef::new::<T>(&key, index, item, &self.reader)?;
            Some((index, reference))
        });
        left.map(|(index, reference)| {
            Ok(Referenced {
                reference,
                record: self.record(index)?,
            })
        })
        .collect()
    }

    /// The command that removes the records at these indexes.
    ///
    /// # Errors
    ///
    /// [`EditError`]; nothing was sent.
    pub fn remove(
        &self,
        indexes: &[usize],
        forgets_ids: bool,
    ) -> Result<RawDocumentBuf, EditError> {
        let mut changed = BTreeMap::new();
        for index in indexes {
            let place = forgets_ids.then(|| self.place(*index)).flatten();
            let mark = self.mark(*index, place.unwrap_or(KeptId::Own))?;
            changed.insert(*index, (mark, None));
        }
        self.command(&changed, None)
    }

    /// What is left in the place of a record once it is removed.
    pub(super) fn mark(&self, index: usize, id: KeptId<'_>) -> Result<RawDocumentBuf, EditError> {
        let mark = self.items.get(index);
        let mark = mark.and_then(|item| in_place_of(T::SPEC, item, id));
        mark.ok_or_else(|| {
            let path = format!("{}.{index}.{}", T::SPEC.items(), T::SPEC.time().name);
            self.damaged(bucket::wrong_field(&path, "a date"))
        })
    }

    fn shows(&self, time: DateTime, live: &Live) -> bool {
        live.shows(time, self.head.fields.expire_from)
    }

    pub(super) fn is_removed(&self, item: &RawDocument) -> bool {
        self.reader.is_removed(RawBsonRef::Document(item))
    }

    pub(super) fn record(&self, index: usize) -> Result<T, DamagedBucket> {
        let item = self.items.get(index).copied();
        let item = item.map_or(RawBsonRef::Null, RawBsonRef::Document);
        let item = self.reader.decode(index, item);
        let item = item.map_err(|damage| DamagedBucket::new(printed_id(self.stored), damage))?;
        Ok(T::assemble(self.key.clone(), item))
    }

    fn damaged(&self, damage: Damage) -> EditError {
        EditError::Damaged(DamagedBucket::new(printed_id(self.stored), damage))
    }
}

impl<T: Record> OpenedRecord<'_, T> {
    /// The record.
    ///
    /// # Errors
    ///
    /// [`EditError::Damaged`] if it does not decode.
    pub fn record(&self) -> Result<T, EditError> {
        self.bucket.record(self.index).map_err(EditError::Damaged)
    }

    /// The command that removes the record.
    ///
    /// # Errors
    ///
    /// [`EditError`]; nothing was sent.
    pub fn remove(&self, forgets_id: bool) -> Result<RawDocumentBuf, EditError> {
        self.bucket.remove(&[self.index], forgets_id)
    }
}

/// Whether the server takes both for the same id.
fn is_id(stored: RawBsonRef<'_>, id: &Bson) -> bool {
    let id = RawDocumentBuf::try_from(&doc! { ID: id }).unwrap_or_default();
    let id = id.get(ID).ok().flatten().and_then(identity);
    id.is_some() && identity(stored) == id
}

/// The time of an item, if it has one.
fn item_time_of(spec: &BucketSpec, items: &[&RawDocument], index: usize) -> Option<DateTime> {
    items.get(index)?.get_datetime(spec.time().name).ok()
}
