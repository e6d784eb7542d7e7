//! A record in the place of the one that was read.

use std::collections::{BTreeMap, BTreeSet};

use bson::{DateTime, Document, RawBsonRef, RawDocument, RawDocumentBuf};

use super::{
    edit_error::EditError,
    opened::{OpenedBucket, OpenedRecord},
    read_as_less::{Items, keep_values},
    reordered::first_reordered,
    same_elements::content,
    unknown::{Merge, Merged, Path, settle},
};
use crate::{
    bucket::record::Record,
    codec::raw::{RawWriter, elements},
    error::EncodeError,
    model::{form::Span, limits::Limits, size::MAX_DOCUMENT_BYTES, spec::BucketSpec},
    write::{are_same, counted_bytes, identity, one_item, unchecked_item},
};

/// What an edit may add to a document besides its item, in bytes: the number of edits, and aggregates that
/// were not stored before.
const GROWTH: usize = 4_096;

/// What a stored item has that this version of the model does not know.
pub(super) struct Unknown {
    /// Where it is.
    pub(super) paths: Vec<Path>,
    /// The arrays that stay whole, or not at all.
    whole: BTreeSet<String>,
    /// What the model knows, with it.
    item: RawDocumentBuf,
    /// What the model knows.
    known: RawDocumentBuf,
}

impl<T: Record> OpenedRecord<'_, T> {
    /// The command that stores this record in the place of the one that was read; `None` if it is the same.
    ///
    /// # Errors
    ///
    /// [`EditError`]; nothing was sent.
    pub fn replace(
        &self,
        record: &T,
        limits: Option<Limits>,
        now: DateTime,
    ) -> Result<Option<RawDocumentBuf>, EditError> {
        let (spec, bucket) = (T::SPEC, &self.bucket);
        if record.key() != bucket.key {
            return Err(EditError::Key);
        }
        let Some(old) = bucket.items.get(self.index) else {
            return Ok(None);
        };
        let time = record.time();
        let fields = &bucket.head.fields;
        let (start, end) = bucket.span_of(self.index);
        let takes = match spec.form().span() {
            Span::None => true,
            // The last window has the last time as well.
            Span::Window => start <= time && (time < end || end == DateTime::MAX),
            Span::Records => start <= time && time <= end,
        };
        if !takes {
            return Err(EditError::Time { time, start, end });
        }
        let item = one_item(record, limits, now).map_err(EditError::Encode)?;
        if !same_id(spec, &item, old) {
            return Err(EditError::Id);
        }
        let item = self.with_unknown(&item, old)?;
        let size = counted_bytes(record, item.as_bytes().len());
        let item = bucket.without_held(&item);
        self.check_size(&item, old)?;
        if item.as_bytes() == old.as_bytes() {
            return Ok(None);
        }
        let mut own = Document::new();
        // A bucket from before the model counted bytes has none, and takes no more records.
        let has_bytes = matches!(bucket.stored.get(spec.names().bytes), Ok(Some(_)));
        if spec.max_bytes().is_some() && has_bytes {
            let encoded = bucket.reader.encoded(old).as_bytes().len();
            let before = self.record()?;
            let more = size.saturating_sub(counted_bytes(&before, encoded));
            // A shorter item leaves the size as it was: a full bucket stays full.
            let more = u64::try_from(more).unwrap_or(u64::MAX);
            let bytes = fields.bytes.saturating_add(more);
            own.insert(spec.names().bytes, i64::try_from(bytes).unwrap_or(i64::MAX));
        }
        if spec.dated_by().is_some() {
            let date = time.min(now);
            let date = fields.expire_from.map_or(date, |from| from.max(date));
            own.insert(spec.names().expire_from, date);
        }
        let changed = BTreeMap::from([(self.index, (item, Some(record)))]);
        bucket.command(&changed, Some(own)).map(Some)
    }

    /// Whether what is stored is this record, as an insert compares them.
    pub(super) fn is_stored(&self, record: &T) -> Result<bool, EditError> {
        let new = unchecked_item(record).map_err(EditError::Encode)?;
        let old = self.bucket.items.get(self.index);
        let encoded = old.map(|old| self.bucket.reader.encoded(old));
        Ok(encoded.is_some_and(|old| are_same(&old, &new)))
    }

    /// The new item, and what the old one has that this version of the model does not know.
    fn with_unknown(
        &self,
        item: &RawDocument,
        old: &RawDocument,
    ) -> Result<RawDocumentBuf, EditError> {
        let unknown = self.unknown(old)?;
        let forms = [&*unknown.item, &*unknown.known, item];
        let merged = if unknown.paths.is_empty() {
            item.to_owned()
        } else {
            let merged = self.merged(forms, &unknown.whole);
            if let Some(Path(path)) = merged.lost {
                return Err(EditError::UnclearField { path });
            }
            merged.item
        };
        let items = Items {
            stored: &self.bucket.reader.encoded(old),
            known: &unknown.known,
            new: item,
            merged: &merged,
        };
        let expected = self.read_of(&merged);
        let keep = |keeps: &dyn Fn(&str) -> bool| {
            let kept = keep_values(&items, keeps);
            let kept = kept.map_err(|Path(path)| EditError::UnclearField { path })?;
            let reads_same = self.read_of(&kept) == expected;
            Ok(reads_same.then_some(kept))
        };
        if let Some(kept) = keep(&|_| true)? {
            return self.in_order(kept, item);
        }
        // A type may read several of its values as one.
        let mut stay = BTreeSet::new();
        for field in elements(&merged).map_while(Result::ok) {
            if keep(&|name| name == field.name)?.is_some() {
                stay.insert(field.name);
            }
        }
        let kept = keep(&|name| stay.contains(name))?;
        self.in_order(kept.unwrap_or(merged), item)
    }

    /// The item that goes into the bucket, unless a list of the new record has another order than is read of it: nothing tells
    /// where elements that the model leaves out belong there.
    fn in_order(
        &self,
        item: RawDocumentBuf,
        new: &RawDocument,
    ) -> Result<RawDocumentBuf, EditError> {
        let Some(stored) = self.as_read(&item) else {
            return Ok(item);
        };
        match first_reordered(&stored, || self.as_read(new)) {
            Some(path) => Err(EditError::UnclearField { path }),
            None => Ok(item),
        }
    }

    /// What the stored item has that this version of the model does not know.
    pub(super) fn unknown(&self, old: &RawDocument) -> Result<Unknown, EditError> {
        // What is stored may be more than a write would take.
        let known = unchecked_item(&self.record()?).map_err(EditError::Encode)?;
        let merged = self.merged([old, &*known, &*known], &BTreeSet::new());
        Ok(Unknown {
            paths: merged.found,
            whole: merged.whole,
            item: merged.item,
            known,
        })
    }

    /// The last of these items with what the first has beyond the second, as far as that changes nothing in what is
    /// read of it.
    fn merged(&self, forms: [&RawDocument; 3], whole: &BTreeSet<String>) -> Merged {
        let [stored, known, new] = forms;
        let is_known = |name: &str| has_attributes(T::SPEC, name);
        let of = |keeps: &dyn Fn(usize) -> bool| {
            Merge::new(keeps, &is_known, whole.clone()).run(stored, known, new)
        };
        let mut all = of(&|_| true);
        let expected = self.read_of(new);
        let reads_same = |stays: &[bool]| {
            let some = of(&|number| stays.get(number) == Some(&true));
            // What cannot be read is no worse with more fields.
            expected.is_none() || self.read_of(&some.item) == expected
        };
        let stays = settle(&all.found, &reads_same);
        if stays.contains(&false) {
            let some = of(&|number| stays.get(number) == Some(&true));
            let found = some.found.into_iter().zip(&stays);
            let found = found.filter(|(_, stays)| **stays).map(|(path, _)| path);
            all = Merged {
                found: found.collect(),
                ..some
            };
        }
        all
    }

    /// What is read of an item, however it is stored and whatever its order; `None` if that fails.
    fn read_of(&self, item: &RawDocument) -> Option<Vec<u8>> {
        self.as_read(item).map(|item| content(&item))
    }

    /// An item as the model writes what it reads of it; `None` if that fails.
    fn as_read(&self, item: &RawDocument) -> Option<RawDocumentBuf> {
        let (reader, key) = (&self.bucket.reader, self.bucket.key.clone());
        let item = reader.decode::<T::Item>(self.index, RawBsonRef::Document(item));
        unchecked_item(&T::assemble(key, item.ok()?)).ok()
    }

    /// Refuses an item that makes the bucket too large for a document.
    fn check_size(&self, item: &RawDocument, old: &RawDocument) -> Result<(), EditError> {
        let (bytes, before) = (item.as_bytes().len(), old.as_bytes().len());
        let others = self.bucket.stored.as_bytes().len().saturating_sub(before);
        let limit = MAX_DOCUMENT_BYTES.saturating_sub(others + GROWTH);
        if bytes > before && bytes > limit {
            return Err(EditError::Encode(EncodeError::TooLarge { bytes, limit }));
        }
        Ok(())
    }
}

/// Whether a field has attributes. Older items have them as plain fields, and what is in their arrays is read or refused.
fn has_attributes(spec: &BucketSpec, name: &str) -> bool {
    let mut arrays = spec.arrays().iter();
    arrays.any(|array| array.name == name || array.field_names().any(|field| field == name))
}

/// Whether both have the same record id, or the model has none.
pub(super) fn same_id(spec: &BucketSpec, item: &RawDocument, other: &RawDocument) -> bool {
    let id = |item: &RawDocument| identity(item.get(spec.unique()?).ok()??);
    id(item) == id(other)
}

impl<T: Record> OpenedBucket<'_, T> {
    /// The item without the arrays of attributes that the bucket holds for it.
    fn without_held(&self, item: &RawDocument) -> RawDocumentBuf {
        let shared = self.reader.shared_arrays();
        RawWriter::build(|writer| {
            // The encoder made it, so every element is valid.
            for element in elements(item).map_while(Result::ok) {
                let is_held = shared.iter().any(|held| {
                    held.element.name == element.name && held.element.bytes == element.bytes
                });
                if !is_held {
                    writer.raw(element.kind, element.name, element.bytes);
                }
            }
        })
    }
}
