//! What edits leave in a stored bucket: the place of a removed record, and how often the bucket was edited.
//!
//! A removed record leaves an item in its place: its time, its record id if the model has ids, and a mark. So
//! the places of the other items, the count, the room of the bucket and the index on record ids stay as they
//! were, and nothing else of the record is left. If the record went to another bucket of its key, that one has
//! its id now; and a removal can forget the id. The mark then names its own place instead: `{ "at": .., "id": { "moved_from": .., "index": 1 },
//! "_removed": true }`.
//!
//! ```json
//! { "count": 3, "_edits": { "number": 1, "removed": 1 },
//!   "items": [{ "at": .., "value": 1 }, { "at": .., "_removed": true }, { "at": .., "value": 3 }] }
//! ```

use bson::{Bson, Document, RawBsonRef, RawDocument, RawDocumentBuf, doc};

use super::head::{field, whole_field, wrong_field};
use crate::{
    codec::raw::{Element, RawWriter, elements},
    error::Damage,
    model::spec::BucketSpec,
};

/// The field of a bucket that counts its edits; buckets that were never edited have none.
pub(crate) const EDITS: &str = "_edits";
/// In it: the number of edits. With the count, it identifies a state of the bucket.
pub(crate) const NUMBER: &str = "number";
/// In it: the number of removed records.
pub(crate) const REMOVED: &str = "removed";
/// The mark of an item in the place of a removed record.
pub(crate) const MARK: &str = "_removed";
/// In the place of a record id: the `_id` of the bucket that the record was in.
const PLACE_BUCKET: &str = "moved_from";
/// And the index of the record in it.
const PLACE_INDEX: &str = "index";

/// The edits of a bucket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Edits {
    /// How often the bucket was edited.
    pub(crate) number: i64,
    /// How many of its items are in the place of a removed record.
    pub(crate) removed: u32,
}

impl Edits {
    /// Reads those of a stored bucket.
    pub(crate) fn read(stored: &RawDocument) -> Result<Self, Damage> {
        let Some(edits) = field(stored, EDITS)? else {
            return Ok(Self::default());
        };
        let edits = edits
            .as_document()
            .ok_or_else(|| wrong_field(EDITS, "a document"))?;
        let wrong = |name: &str| wrong_field(&format!("{EDITS}.{name}"), "a whole number");
        let number = whole_field(edits, NUMBER).map_err(|_| wrong(NUMBER))?;
        let removed = whole_field(edits, REMOVED).map_err(|_| wrong(REMOVED))?;
        Ok(Self {
            number,
            removed: u32::try_from(removed).map_err(|_| wrong(REMOVED))?,
        })
    }

    /// The number of records of a bucket with this many items.
    pub(crate) fn left_of(self, items: u32) -> u32 {
        items.saturating_sub(self.removed)
    }
}

/// Whether the item is in the place of a removed record.
pub(crate) fn is_removed(item: &RawDocument) -> bool {
    matches!(item.get_bool(MARK), Ok(true))
}

/// What is kept of the record id of a removed record.
#[derive(Debug, Clone, Copy)]
pub(crate) enum KeptId<'a> {
    /// The id itself: the record is a duplicate if it is delivered again.
    Own,
    /// The place of the item instead of the id, because another bucket of the key has the record now, or may
    /// have it again. It is stored as a document, which no record has as its id: each place has one entry in the index on ids.
    Place {
        /// The bucket's `_id`.
        bucket: Element<'a>,
        /// The index of the item.
        index: usize,
    },
}

/// The item in the place of this one once its record is removed; `None` if the item has no time.
pub(crate) fn in_place_of(
    spec: &BucketSpec,
    item: &RawDocument,
    id: KeptId<'_>,
) -> Option<RawDocumentBuf> {
    let mut kept: Vec<Element<'_>> = Vec::with_capacity(2);
    for element in elements(item) {
        let element = element.ok()?;
        if element.name == spec.time().name || Some(element.name) == spec.unique() {
            kept.push(element);
        }
    }
    kept.iter()
        .find(|element| element.name == spec.time().name)?;
    Some(RawWriter::build(|writer| {
        for element in &kept {
            match id {
                KeptId::Place { bucket, index } if Some(element.name) == spec.unique() => {
                    let place = writer.begin_document(element.name);
                    writer.raw(bucket.kind, PLACE_BUCKET, bucket.bytes);
                    // A document has at most 16 MB.
                    writer.integer(PLACE_INDEX, i64::try_from(index).unwrap_or(i64::MAX));
                    writer.end(place);
                }
                _ => writer.raw(element.kind, element.name, element.bytes),
            }
        }
        writer.bool(MARK, true);
    }))
}

/// Whether the mark of a removed record names its own place instead of the record's id.
pub(crate) fn names_its_place(spec: &BucketSpec, mark: &RawDocument) -> bool {
    let id = spec.unique().and_then(|name| mark.get(name).ok().flatten());
    matches!(id, Some(RawBsonRef::Document(_)))
}

/// The number of removed records of a bucket, as an expression that never fails.
pub(crate) fn removed() -> Document {
    let removed = format!("${EDITS}.{REMOVED}");
    doc! { "$cond": [{ "$isNumber": &removed }, &removed, 0] }
}

/// The items of a bucket that are records, as an expression. Of buckets without removed records it is the
/// array itself.
pub(crate) fn left(items: impl Into<Bson>) -> Document {
    let items = items.into();
    let is_left = doc! { "$ne": [format!("$$this.{MARK}"), true] };
    let left = doc! { "$filter": { "input": items.clone(), "cond": is_left } };
    doc! { "$cond": [{ "$gt": [removed(), 0] }, left, items] }
}

#[cfg(test)]
mod tests {
    use bson::{DateTime, RawDocumentBuf, doc};

    use super::{Edits, is_removed};

    #[test]
    fn a_bucket_without_the_field_was_never_edited() {
        let stored = RawDocumentBuf::try_from(&doc! { "count": 3 }).unwrap_or_default();
        assert_eq!(Edits::read(&stored).unwrap(), Edits::default());
    }

    #[test]
    fn the_stored_names_never_change() {
        let stored = doc! { "_edits": { "number": 3, "removed": 2 } };
        let stored = RawDocumentBuf::try_from(&stored).unwrap_or_default();
        let edits = Edits {
            number: 3,
            removed: 2,
        };
        assert_eq!(Edits::read(&stored).unwrap(), edits);
        assert_eq!(edits.left_of(5), 3);
        let item = doc! { "at": DateTime::MIN, "_removed": true };
        assert!(is_removed(
            &RawDocumentBuf::try_from(&item).unwrap_or_default()
        ));
    }

    #[test]
    fn another_type_is_damage() {
        for edits in [doc! { "number": 1 }, doc! { "number": 1, "removed": -1 }] {
            let stored = doc! { "_edits": edits };
            let stored = RawDocumentBuf::try_from(&stored).unwrap_or_default();
            assert!(Edits::read(&stored).is_err());
        }
    }
}
