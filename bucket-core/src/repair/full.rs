//! How a full bucket stays full though it has lost items: where room follows from the count, marks take their places.
//!
//! Another bucket of the key was opened because this one was full, and one bucket of a key may have room. A mark is what
//! a removed record leaves, so every reader knows it.

use bson::{RawArrayBuf, RawBson, RawBsonRef, RawDocument, doc};

use super::changes::Changes;
use crate::{
    bucket::{
        edits::{EDITS, KeptId, NUMBER, REMOVED, in_place_of, is_removed},
        items, stored_count,
    },
    codec::raw::elements,
    model::{
        size::MAX_DOCUMENT_BYTES,
        spec::{BucketSpec, ID},
        whole,
    },
};

/// The most marks with an entry each in an index: 100,000 take a server longer than a command may.
const MOST_INDEXED: usize = 20_000;

/// The most bytes of such marks: 3 MB in a document of 13 MB took a server with a small cache more than a minute.
const MOST_INDEXED_BYTES: usize = 2 * 1_024 * 1_024;

/// Room for the other fields of the document and of its statement, in bytes.
const REST: usize = 64 * 1_024;

/// The bucket with marks after its items until it has this many; `None` if it has no item whose time a mark can have, or if the
/// marks take too much space or time.
pub(super) fn filled(spec: &BucketSpec, stored: &RawDocument, size: u32) -> Option<Changes> {
    let id = elements(stored).filter_map(Result::ok);
    let bucket = id.into_iter().find(|element| element.name == ID)?;
    let mut all = RawArrayBuf::new();
    let mut last = None;
    let mut count = 0_usize;
    for item in items(spec, stored).ok()? {
        let item = item.ok()?;
        last = item.as_document().or(last);
        all.push(RawBson::from(item));
        count += 1;
    }
    let last = last?;
    let size = usize::try_from(size).ok()?;
    let most = MAX_DOCUMENT_BYTES - REST - stored.as_bytes().len().min(MAX_DOCUMENT_BYTES - REST);
    let is_indexed = spec.unique().is_some();
    let most = if is_indexed {
        most.min(MOST_INDEXED_BYTES)
    } else {
        most
    };
    let most = all.as_bytes().len() + most;
    if is_indexed && size.saturating_sub(count) > MOST_INDEXED {
        return None;
    }
    for index in count..size {
        // An index on record ids has one entry for each place.
        let id = KeptId::Place { bucket, index };
        all.push(RawBson::Document(in_place_of(spec, last, id)?));
        // They fit into the document, and into the statement, which appends them.
        if all.as_bytes().len() > most {
            return None;
        }
    }
    let mut changes = Changes::raw(spec.items(), RawBson::Array(all));
    changes.extend(Changes::one(spec.names().count, i32::try_from(size).ok()?)?);
    changes.extend(edits(spec, stored, size.saturating_sub(count))?);
    Some(changes)
}

/// The same for a bucket whose items are gone: it counts as many more removed records as it counts items.
pub(super) fn filled_without_items(
    spec: &BucketSpec,
    stored: &RawDocument,
    size: u32,
) -> Option<Changes> {
    let count = stored_count(spec, stored).ok()?;
    let more = i64::from(size).checked_sub(count)?;
    let removed = stored_number(stored, REMOVED).checked_add(more.max(0))?;
    let mut changes = counted(stored, removed)?;
    let count = i32::try_from(count.max(i64::from(size))).ok()?;
    changes.extend(Changes::one(spec.names().count, count)?);
    Some(changes)
}

/// The number of removed records from their marks, and this many more. With another number of edits, one that has read
/// the old state changes nothing.
pub(super) fn edits(spec: &BucketSpec, stored: &RawDocument, more: usize) -> Option<Changes> {
    let mut marks = i64::try_from(more).ok()?;
    for item in items(spec, stored).ok()? {
        let item = item.ok()?;
        marks += i64::from(item.as_document().is_some_and(is_removed));
    }
    counted(stored, marks)
}

/// The same for a bucket whose items are not at hand: as many records are removed as before.
pub(super) fn counted_edit(stored: &RawDocument) -> Option<Changes> {
    counted(stored, stored_number(stored, REMOVED))
}

fn counted(stored: &RawDocument, removed: i64) -> Option<Changes> {
    let number = stored_number(stored, NUMBER).saturating_add(1);
    Changes::one(EDITS, doc! { NUMBER: number, REMOVED: removed })
}

/// A number of the bucket's edits.
fn stored_number(stored: &RawDocument, name: &str) -> i64 {
    let number = match stored.get(EDITS) {
        Ok(Some(RawBsonRef::Document(edits))) => edits.get(name).ok().flatten(),
        _ => None,
    };
    number.and_then(whole::of_raw).unwrap_or_default().max(0)
}
