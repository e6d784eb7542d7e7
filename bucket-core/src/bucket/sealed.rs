//! Sealed buckets: the items of a bucket that takes no more records, packed as columns.
//!
//! A sealed bucket has all fields that it had before, with the same values, but for its items. These are binary data
//! of the subtype 128 in the format of `bucket-columns`, which has a version and a checksum of its own. So whatever does
//! not ask for items finds the bucket as before, and whatever does meets no array.
//!
//! ```json
//! { "_id": "7_1698335223", "sensor_id": 7, "count": 200, "_sealed": { "first": .., "last": .. },
//!   "items": Binary(128, "..") }
//! ```

use std::{borrow::Cow, sync::Arc};

use bson::{DateTime, Document, RawBsonRef, RawDocument, doc, spec::BinarySubtype};
use serde::de::Error as _;

use super::{head::wrong_field, merged::MERGED, packed::each_packed, selected};
use crate::{
    codec::raw::{RawWriter, elements},
    error::Damage,
    model::spec::BucketSpec,
};

/// The field that a bucket has while it is sealed: the times of its first and of its last record. A bucket of rows that has it takes no
/// more records, too: it was sealed before, or it is one of the parts of a window.
pub(crate) const SEALED: &str = "_sealed";
/// In it: the earliest time, and the latest one.
pub(crate) const FIRST: &str = "first";
pub(crate) const LAST: &str = "last";

/// In it, in models that merge buckets, and in parts of windows: since when it takes no more records. Without it, nobody knows.
pub(crate) const AT: &str = "at";

/// In it, if the bucket is archived: since when.
pub(crate) const ARCHIVED: &str = "archived";

/// In it, if the records of the bucket have expired and its statistics are kept: since when its items are gone.
pub(crate) const EXPIRED: &str = "expired";

/// In it, if these items were in the archive: since when. Without the archive, nobody knows whether it has removed its copy.
pub(crate) const COPIED: &str = "copied";

/// In it, after an edit: its number and the places of the items that it has changed. A change stream shows it.
pub(crate) const EDIT: &str = "edit";
pub(crate) const PLACES: &str = "places";

/// Where a read of selected fields has the packed items: nothing can be selected of them on the server.
pub(crate) const ASIDE: &str = "_packed";

/// The subtype of packed items, the first one that BSON leaves to its users.
pub(crate) const PACKED: BinarySubtype = BinarySubtype::UserDefined(128);

/// Whether a bucket is sealed, or was, or is a part of a window: it takes no more records, because later ones may have gone to
/// another bucket.
pub(crate) fn was_sealed(stored: &RawDocument) -> bool {
    !matches!(stored.get(SEALED), Ok(None))
}

/// The packed items in this field, if it has any.
pub(crate) fn packed<'a>(name: &str, stored: &'a RawDocument) -> Option<&'a [u8]> {
    match stored.get(name) {
        Ok(Some(RawBsonRef::Binary(packed))) if packed.subtype == PACKED => Some(packed.bytes),
        _ => None,
    }
}

/// The bucket as it was before it was sealed, and every other bucket as it is.
pub(crate) fn unsealed<'a>(
    spec: &BucketSpec,
    stored: &'a RawDocument,
) -> Result<Cow<'a, RawDocument>, Damage> {
    with_items(spec, stored, |packed, writer| {
        let array = writer.begin_array(spec.items());
        let mut index = 0;
        each_packed(packed, |item| {
            writer.element(index, item.as_bytes());
            index += 1;
        })?;
        writer.end(array);
        Ok(())
    })
}

/// The same with these fields of its items, where the server selected fields of other buckets.
pub(crate) fn selected<'a>(
    spec: &BucketSpec,
    stored: &'a RawDocument,
    paths: &[&str],
) -> Result<Cow<'a, RawDocument>, Damage> {
    with_items(spec, stored, |packed, writer| {
        let array = writer.begin_array(spec.items());
        let mut index = 0;
        let mut damage = None;
        each_packed(packed, |item| {
            let element = writer.begin_element(index);
            selected::write(paths, item, writer);
            writer.end(element);
            // Of an item that cannot be read to its end, fields would be left out in silence.
            if damage.is_none() && !is_readable(item) {
                let source = Arc::new(bson::error::Error::custom("it has a malformed element"));
                damage = Some(Damage::Item { index, source });
            }
            index += 1;
        })?;
        writer.end(array);
        damage.map_or(Ok(()), Err)
    })
}

fn is_readable(item: &RawDocument) -> bool {
    elements(item).all(|element| element.is_ok())
}

/// A sealed bucket with what is written in the place of its packed items. Other buckets stay as they are.
pub(crate) fn with_items<'a>(
    spec: &BucketSpec,
    stored: &'a RawDocument,
    write: impl FnOnce(&[u8], &mut RawWriter) -> Result<(), Damage>,
) -> Result<Cow<'a, RawDocument>, Damage> {
    let mut names = [spec.items(), ASIDE].into_iter();
    let Some((name, packed)) = names.find_map(|name| Some((name, packed(name, stored)?))) else {
        return Ok(Cow::Borrowed(stored));
    };
    let mut write = Some(write);
    let mut fields = RawWriter::default();
    for element in elements(stored) {
        let element = element.map_err(|_| wrong_field(spec.items(), "an array"))?;
        if element.name == name {
            if let Some(write) = write.take() {
                write(packed, &mut fields)?;
            }
        } else if ![spec.items(), ASIDE, SEALED].contains(&element.name) {
            fields.raw(element.kind, element.name, element.bytes);
        }
    }
    let fields = fields.into_bytes();
    Ok(Cow::Owned(RawWriter::build_of(fields.len(), |bucket| {
        bucket.elements(&fields);
    })))
}

/// The packed items, for a projection: nothing of other buckets.
pub(crate) fn aside(spec: &BucketSpec) -> Document {
    doc! { "$cond": [is_packed(spec), format!("${}", spec.items()), "$$REMOVE"] }
}

/// Whether a document of a pipeline has this field, for the server.
pub(crate) fn has(field: &str) -> Document {
    doc! { "$ne": [{ "$type": format!("${field}") }, "missing"] }
}

/// Whether a bucket has packed items, for the server.
pub(crate) fn is_packed(spec: &BucketSpec) -> Document {
    doc! { "$eq": [{ "$type": format!("${}", spec.items()) }, "binData"] }
}

/// The same as a filter.
pub(crate) fn is_packed_filter(spec: &BucketSpec) -> Document {
    doc! { spec.items(): { "$type": "binData" } }
}

/// The same for buckets that say that they are sealed: binary data without that is damage.
pub(crate) fn sealed_filter(spec: &BucketSpec) -> Document {
    let mut filter = is_packed_filter(spec);
    filter.insert(format!("{SEALED}.{FIRST}"), doc! { "$type": "date" });
    filter
}

/// The times of the first and of the last record, as a sealed bucket says them.
pub(crate) fn ends_of_sealed(stored: &RawDocument) -> Option<(DateTime, DateTime)> {
    let sealed = stored.get_document(SEALED).ok()?;
    let first = sealed.get_datetime(FIRST).ok()?;
    Some((first, sealed.get_datetime(LAST).ok()?))
}

/// Whether a bucket says that its items are in the archive, with whatever it says it.
pub(crate) fn says_archived(stored: &RawDocument) -> bool {
    let sealed = stored.get_document(SEALED);
    sealed.is_ok_and(|sealed| !matches!(sealed.get(ARCHIVED), Ok(None)))
}

/// Since when the items of a bucket are in the archive.
pub(crate) fn archived_at(stored: &RawDocument) -> Option<DateTime> {
    let sealed = stored.get_document(SEALED).ok()?;
    sealed.get_datetime(ARCHIVED).ok()
}

/// Since when an archive had a copy of the items, which are expired since.
pub(crate) fn copied_at(stored: &RawDocument) -> Option<DateTime> {
    let sealed = stored.get_document(SEALED).ok()?;
    sealed.get_datetime(COPIED).ok()
}

/// Since when a bucket is as merges take it, if what it says of its sealing has that: since it takes no more records, or since
/// its records have expired.
pub(crate) fn settled_since(sealed: &RawDocument) -> Option<DateTime> {
    let is_header = !matches!(sealed.get(EXPIRED), Ok(None));
    sealed
        .get_datetime(if is_header { EXPIRED } else { AT })
        .ok()
}

/// How long a bucket that takes no more records tells by itself which one is the next, in milliseconds.
const TELLS_NEXT: i64 = 1_000;

/// Whether no bucket after this one can be merged yet, and so none that is not there. A bucket is merged only some time after
/// it has taken its last record, and only with all of its window before it.
///
/// That time is longer than this and what a call takes. An older bucket may have others after it that are being merged.
pub(crate) fn tells_next(stored: &RawDocument, now: DateTime) -> bool {
    if !matches!(stored.get(MERGED), Ok(None)) {
        return false;
    }
    match stored.get(SEALED) {
        Ok(None) => true,
        Ok(Some(RawBsonRef::Document(sealed))) => {
            let since = now.timestamp_millis().saturating_sub(TELLS_NEXT);
            let at = sealed.get_datetime(AT);
            at.is_ok_and(|at| at.timestamp_millis() >= since)
        }
        _ => false,
    }
}

/// The path of the time since when a bucket takes no more records.
pub(crate) fn at_path() -> String {
    format!("{SEALED}.{AT}")
}

/// The path of that time.
pub(crate) fn copied_path() -> String {
    format!("{SEALED}.{COPIED}")
}

/// The path of the time at which a bucket was archived.
pub(crate) fn archived_path() -> String {
    format!("{SEALED}.{ARCHIVED}")
}

/// The path of the time at which the items of a bucket were removed because they have expired.
pub(crate) fn expired_path() -> String {
    format!("{SEALED}.{EXPIRED}")
}

/// Whether a sealed bucket has records from before this time, for the server.
pub(crate) fn is_cut(spec: &BucketSpec, from: DateTime) -> Document {
    let first = format!("${SEALED}.{FIRST}");
    doc! { "$and": [is_packed(spec), { "$not": { "$gte": [first, from] } }] }
}

#[cfg(test)]
mod tests {
    use bson::{DateTime, RawDocument, rawdoc};

    use super::{TELLS_NEXT, is_readable, tells_next};

    #[test]
    fn a_bucket_tells_which_is_next_only_while_no_later_one_can_be_merged() {
        let now = DateTime::from_millis(1_698_349_623_000);
        let since = |age: i64| DateTime::from_millis(now.timestamp_millis() - age);
        let at = |age| rawdoc! { "_id": "7_1", "_sealed": { "at": since(age) } };
        assert!(tells_next(&at(0), now) && tells_next(&at(TELLS_NEXT), now));
        assert!(!tells_next(&at(TELLS_NEXT + 1), now));
        // Of rows that do not say since when, none is merged for an hour.
        assert!(tells_next(&rawdoc! { "_id": "7_1" }, now));
        let undated = rawdoc! { "_id": "7_1", "_sealed": { "first": now, "last": now } };
        assert!(!tells_next(&undated, now));
        let merged = rawdoc! { "_id": "7_1", "_merged": "", "_sealed": { "at": now } };
        assert!(!tells_next(&merged, now));
    }

    #[test]
    fn an_item_with_a_name_that_is_no_text_is_not_readable() {
        let item = rawdoc! { "at": 1, "name": 2, "n": 3 };
        assert!(is_readable(&item));
        let mut bytes = item.into_bytes();
        let at = bytes.windows(4).position(|four| four == b"name").unwrap();
        bytes[at] = 0xff;
        assert!(!is_readable(RawDocument::from_bytes(&bytes).unwrap()));
    }
}
