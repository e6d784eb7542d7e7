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

use std::borrow::Cow;

use bson::{DateTime, Document, RawBsonRef, RawDocument, doc, spec::BinarySubtype};
#[cfg(feature = "seal")]
use bucket_columns::{Columns, UnpackError};

use super::{edits::is_removed, head::wrong_field, selected};
use crate::{
    codec::raw::{RawWriter, elements, printed_id},
    error::{Damage, DamagedBucket},
    model::spec::BucketSpec,
};

/// The field that a bucket has while it is sealed: the times of its first and of its last record.
pub(crate) const SEALED: &str = "_sealed";
/// In it: the earliest time, and the latest one.
pub(crate) const FIRST: &str = "first";
pub(crate) const LAST: &str = "last";

/// In it, after an edit: its number and the places of the items that it has changed. A change stream shows it.
pub(crate) const EDIT: &str = "edit";
pub(crate) const PLACES: &str = "places";

/// Where a read of selected fields has the packed items: nothing can be selected of them on the server.
pub(crate) const ASIDE: &str = "_packed";

/// The subtype of packed items, the first one that BSON leaves to its users.
pub(crate) const PACKED: BinarySubtype = BinarySubtype::UserDefined(128);

/// Whether a bucket is sealed, or was: it takes no more records, because later ones may have gone to another bucket.
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
        each_packed(packed, |item| {
            let element = writer.begin_element(index);
            selected::write(paths, item, writer);
            writer.end(element);
            index += 1;
        })?;
        writer.end(array);
        Ok(())
    })
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

/// Whether a bucket has packed items, for the server.
pub(crate) fn is_packed(spec: &BucketSpec) -> Document {
    doc! { "$eq": [{ "$type": format!("${}", spec.items()) }, "binData"] }
}

/// The same as a filter.
pub(crate) fn is_packed_filter(spec: &BucketSpec) -> Document {
    doc! { spec.items(): { "$type": "binData" } }
}

/// Passes on each packed item.
///
/// # Errors
///
/// [`Damage::Packed`] if the bytes are damaged, [`Damage::Sealed`] if this program does not know their format; then
/// nothing is passed on.
#[cfg(feature = "seal")]
pub(crate) fn each_packed(packed: &[u8], mut each: impl FnMut(&RawDocument)) -> Result<(), Damage> {
    let columns = Columns::read(packed);
    let columns = columns.map_err(|error| {
        let message = error.to_string();
        match error {
            UnpackError::Version(_) => Damage::Sealed { message },
            _ => Damage::Packed { message },
        }
    })?;
    let mut rows = columns.into_rows();
    while let Some(item) = rows.next_row() {
        each(item);
    }
    Ok(())
}

#[cfg(not(feature = "seal"))]
pub(crate) fn each_packed(_: &[u8], _: impl FnMut(&RawDocument)) -> Result<(), Damage> {
    let message = "this program is built without the feature `seal` of `bucket-mongo`";
    Err(Damage::Sealed {
        message: message.to_owned(),
    })
}

/// Packs items; `None` if this program cannot.
#[cfg(feature = "seal")]
#[expect(
    single_use_lifetimes,
    reason = "anonymous ones in `impl Trait` are unstable"
)]
pub(crate) fn pack<'a>(items: impl IntoIterator<Item = &'a RawDocument>) -> Option<Vec<u8>> {
    bucket_columns::pack(items).ok()
}

#[cfg(not(feature = "seal"))]
#[expect(
    single_use_lifetimes,
    reason = "anonymous ones in `impl Trait` are unstable"
)]
pub(crate) fn pack<'a>(_: impl IntoIterator<Item = &'a RawDocument>) -> Option<Vec<u8>> {
    None
}

/// The earliest and the latest time of these items, which are records; `None` if there are none, or if one of them
/// has no time.
#[expect(
    single_use_lifetimes,
    reason = "anonymous ones in `impl Trait` are unstable"
)]
pub(crate) fn ends<'a>(
    spec: &BucketSpec,
    items: impl IntoIterator<Item = &'a RawDocument>,
) -> Option<(DateTime, DateTime)> {
    let mut ends = None;
    for item in items {
        let time = item.get_datetime(spec.time().name).ok()?;
        let (first, last) = ends.unwrap_or((time, time));
        ends = Some((first.min(time), last.max(time)));
    }
    ends
}

/// The same of a bucket whose items are rows; its removed records do not count.
pub(crate) fn ends_of(spec: &BucketSpec, rows: &RawDocument) -> Option<(DateTime, DateTime)> {
    let items = rows.get_array(spec.items()).ok()?;
    let items = items.into_iter().map(|item| item.ok()?.as_document());
    let items: Vec<&RawDocument> = items.collect::<Option<_>>()?;
    ends(spec, items.into_iter().filter(|item| !is_removed(item)))
}

/// The records of packed items from a time on: their number, the earliest and the latest time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) records: u64,
    pub(crate) ends: Option<(DateTime, DateTime)>,
}

impl Shown {
    /// Adds those of these packed items.
    pub(crate) fn add(
        &mut self,
        spec: &BucketSpec,
        packed: &[u8],
        from: DateTime,
    ) -> Result<(), Damage> {
        each_packed(packed, |item| {
            let time = item.get_datetime(spec.time().name).ok();
            let Some(time) = time.filter(|time| *time >= from && !is_removed(item)) else {
                return;
            };
            let (first, last) = self.ends.unwrap_or((time, time));
            self.ends = Some((first.min(time), last.max(time)));
            self.records += 1;
        })
    }
}

/// Whether a sealed bucket has records from before this time, for the server.
pub(crate) fn is_cut(spec: &BucketSpec, from: DateTime) -> Document {
    let first = format!("${SEALED}.{FIRST}");
    doc! { "$and": [is_packed(spec), { "$not": { "$gte": [first, from] } }] }
}

/// A stored bucket with its items as rows.
#[derive(Debug)]
pub struct BucketRows<'a> {
    pub(crate) rows: Cow<'a, RawDocument>,
    /// The items as they are stored, if they are packed.
    pub(crate) packed: Option<&'a [u8]>,
}

impl<'a> BucketRows<'a> {
    /// Unpacks the items, if they are packed.
    ///
    /// # Errors
    ///
    /// [`DamagedBucket`] if that cannot be done.
    pub fn of(spec: &BucketSpec, stored: &'a RawDocument) -> Result<Self, DamagedBucket> {
        let rows = unsealed(spec, stored);
        Ok(Self {
            rows: rows.map_err(|damage| DamagedBucket::new(printed_id(stored), damage))?,
            packed: packed(spec.items(), stored),
        })
    }
}
