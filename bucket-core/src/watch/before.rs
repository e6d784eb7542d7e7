//! What records were before an event, for watches that ask for it.
//!
//! The server is asked for the bucket as it was just before the event. Events of one moment belong to one
//! transaction, of which that read shows nothing: what they set in the items is kept until the next moment.

use std::collections::HashMap;

use bson::{RawBsonRef, RawDocument, RawDocumentBuf, Timestamp};

use super::{head::Head, known::Bucket};
use crate::{
    bucket::{
        self, BucketRows, ItemReader,
        edits::{Edits, is_removed},
        record::Record,
    },
    model::spec::BucketSpec,
};

/// The items that an update set, by their indexes in ascending order.
type Items<'a> = [(u32, RawBsonRef<'a>)];

/// What the events of a moment have set so far.
#[derive(Debug)]
pub(super) struct Before {
    moment: Timestamp,
    /// Whether earlier events of the moment are missing.
    is_partial: bool,
    /// The items by their buckets and indexes.
    set: HashMap<String, HashMap<u32, RawDocumentBuf>>,
}

impl Before {
    /// At the beginning, when the events up to this moment were given.
    pub(super) fn new(moment: Timestamp) -> Self {
        Self {
            moment,
            is_partial: true,
            set: HashMap::new(),
        }
    }

    /// Goes on to the moment of an event.
    pub(super) fn begin(&mut self, moment: Timestamp) {
        if moment != self.moment {
            *self = Self {
                is_partial: false,
                ..Self::new(moment)
            };
        }
    }

    /// The records that these items were before the event, where that is known.
    pub(super) fn records<T: Record>(
        &self,
        bucket: &str,
        key: &T::Key,
        head: Option<&Head>,
        items: &Items<'_>,
    ) -> Vec<Option<T>> {
        let rows = match head {
            Some(Head::Before(stored)) => BucketRows::of(T::SPEC, stored).ok(),
            _ => None,
        };
        let former = rows.as_ref().filter(|_| !self.is_partial);
        let former = former.and_then(|rows| Former::of(T::SPEC, rows, items));
        let set = self.set.get(bucket);
        let records = items.iter().map(|(index, _)| {
            let former = former.as_ref()?;
            let item = match set.and_then(|set| set.get(index)) {
                Some(item) => item,
                None => former.item(*index)?,
            };
            if is_removed(item) {
                return None;
            }
            let at = usize::try_from(*index).unwrap_or(usize::MAX);
            let item = former.reader.decode(at, RawBsonRef::Document(item)).ok()?;
            Some(T::assemble(key.clone(), item))
        });
        records.collect()
    }

    /// An event does not say what it has set.
    pub(super) fn lose(&mut self) {
        self.is_partial = true;
    }

    /// Keeps what the event has set.
    pub(super) fn set(&mut self, bucket: &str, items: &Items<'_>) {
        let of_bucket = self.set.entry(bucket.to_owned()).or_default();
        for (index, item) in items {
            if let RawBsonRef::Document(item) = item {
                of_bucket.insert(*index, (*item).to_owned());
            }
        }
    }

    /// A removed bucket, if it is known as it was just before that.
    pub(super) fn removed<'a>(
        &self,
        bucket: &str,
        head: Option<&'a Head>,
    ) -> Option<&'a RawDocument> {
        match head {
            Some(Head::Before(head)) if !self.is_partial && !self.set.contains_key(bucket) => {
                Some(head)
            }
            _ => None,
        }
    }
}

/// The number of records of a bucket.
pub(super) fn records_of(spec: &BucketSpec, head: &RawDocument) -> Option<u32> {
    let count = Bucket::of(spec, head).count?;
    Edits::read(head).ok().map(|edits| edits.left_of(count))
}

/// The index of the first of these items, and the number of items up to the last one.
pub(super) fn part(items: &Items<'_>) -> Option<(u32, u32)> {
    let ((first, _), (last, _)) = items.first().zip(items.last())?;
    Some((*first, last - first + 1))
}

/// A bucket as it was before the event: the part of its items from the first to the last of those that are asked for.
struct Former<'a> {
    reader: ItemReader<'a>,
    /// An array is read from its beginning, so each item is looked up here.
    items: Vec<Option<&'a RawDocument>>,
    first: u32,
}

impl<'a> Former<'a> {
    fn of(spec: &'static BucketSpec, rows: &'a BucketRows<'_>, items: &Items<'_>) -> Option<Self> {
        let stored = &*rows.rows;
        // Of packed items the server cannot give a part.
        let first = match rows.packed {
            Some(_) => 0,
            None => items.first()?.0,
        };
        let stored_items = bucket::items(spec, stored).ok()?;
        let items = stored_items
            .into_iter()
            .map(|item| item.ok()?.as_document());
        Some(Self {
            reader: ItemReader::new(spec, stored).ok()?,
            items: items.collect(),
            first,
        })
    }

    fn item(&self, index: u32) -> Option<&'a RawDocument> {
        let at = usize::try_from(index.checked_sub(self.first)?).ok()?;
        self.items.get(at).copied()?
    }
}
