//! What a writer reads: the bucket that takes a key's next record, without its items.

use bson::{Bson, DateTime, Document, doc};

use super::{FindPlan, ReadKey, any_key, fields, find, key_filter, order};
use crate::{
    bucket::{
        id::{Place, push_place},
        merged::MERGED,
        sealed::{SEALED, is_packed_filter},
    },
    codec::raw::RawWriter,
    model::{
        form::OrderedBy,
        spec::{BucketSpec, ID},
    },
    time::window::Window,
};

/// The newest bucket of a key, without its items.
#[must_use]
pub fn newest(spec: &BucketSpec, key: &[u8]) -> FindPlan {
    FindPlan {
        sort: order(spec, -1),
        limit: 1,
        projection: header(spec),
        ..find(spec, key_filter(key))
    }
}

/// The newest bucket of a key that meets the condition.
#[must_use]
pub(crate) fn newest_with(spec: &BucketSpec, key: &[u8], condition: &Document) -> FindPlan {
    let filter = RawWriter::build(|writer| {
        writer.elements(key);
        fields(writer, condition);
    });
    FindPlan {
        filter,
        ..newest(spec, key)
    }
}

/// The newest bucket of a key without late records. With ids of whole seconds, a bucket of late
/// records may sort after it.
#[must_use]
pub(crate) fn newest_in_order(spec: &BucketSpec, key: &[u8]) -> FindPlan {
    newest_with(spec, key, &doc! { spec.names().late: { "$exists": false } })
}

/// The newest bucket of a key whose id is at or after the first and before the second of these two.
/// It must meet the condition.
#[must_use]
pub(crate) fn newest_between(
    spec: &BucketSpec,
    key: &[u8],
    ids: (&str, &str),
    condition: &Document,
) -> FindPlan {
    let filter = RawWriter::build(|writer| {
        writer.elements(key);
        let range = writer.begin_document(ID);
        writer.string("$gte", ids.0);
        writer.string("$lt", ids.1);
        writer.end(range);
        fields(writer, condition);
    });
    FindPlan {
        sort: doc! { ID: -1 },
        limit: 1,
        projection: header(spec),
        ..find(spec, filter)
    }
}

/// The newest bucket of a time, or the merged one that may have buckets of it: the ids of the first bucket that such a one can
/// begin with, and of the first one of the time, and the first text after those of the time.
#[must_use]
pub(crate) fn newest_or_merged(
    spec: &BucketSpec,
    key: &[u8],
    (first, own, end): (&str, &str, &str),
    start: DateTime,
) -> FindPlan {
    let condition = doc! { "$or": [
        { ID: { "$gte": own } },
        is_merged(spec, start),
    ] };
    newest_between(spec, key, (first, end), &condition)
}

/// The condition for a bucket to be merged and to reach this time: hybrid ones end with their last record.
pub(crate) fn is_merged(spec: &BucketSpec, start: DateTime) -> Document {
    doc! { MERGED: { "$exists": true }, spec.names().end: { "$gte": start } }
}

/// The bucket of a key at this position, or the merged one that has its items.
fn bucket_at_or_merged(spec: &BucketSpec, key: &ReadKey, slot: Window, place: Place) -> FindPlan {
    let unit = spec.id_unit();
    let start = place.date(unit);
    let ids = [Place::at(slot.span(start).0, unit), place].map(|place| {
        let mut id = key.prefix.clone();
        push_place(&mut id, place, unit);
        id
    });
    let [first, own] = &ids;
    let filter = RawWriter::build(|writer| {
        writer.elements(&key.elements);
        let range = writer.begin_document(ID);
        writer.string("$gte", first);
        writer.string("$lte", own);
        writer.end(range);
        fields(
            writer,
            &doc! { "$or": [{ ID: own }, is_merged(spec, start)] },
        );
    });
    FindPlan {
        sort: doc! { ID: -1 },
        limit: 1,
        ..find(spec, filter)
    }
}

/// The last part of a window with object ids; it must meet the condition.
#[must_use]
pub(crate) fn newest_part(
    spec: &BucketSpec,
    key: &[u8],
    start: DateTime,
    mut condition: Document,
) -> FindPlan {
    let names = spec.names();
    condition.insert(names.start, start);
    let filter = RawWriter::build(|writer| {
        writer.elements(key);
        fields(writer, &condition);
    });
    FindPlan {
        sort: doc! { names.start: -1, names.part: -1 },
        limit: 1,
        projection: header(spec),
        ..find(spec, filter)
    }
}

/// A bucket that a writer remembers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Remembered<'a> {
    /// The key fields as BSON elements.
    pub(crate) key: &'a [u8],
    pub(crate) id: &'a str,
    pub(crate) start: DateTime,
    pub(crate) place: Place,
}

impl Remembered<'_> {
    fn write(&self, spec: &BucketSpec, writer: &mut RawWriter) {
        let names = spec.names();
        writer.elements(self.key);
        match spec.identified_by() {
            OrderedBy::Id => writer.string(ID, self.id),
            OrderedBy::Number => writer.integer(names.number, self.place.time),
            OrderedBy::Start => {
                writer.date(names.start, self.start.timestamp_millis());
                match i64::try_from(self.place.sequence).unwrap_or(i64::MAX) {
                    0 => {
                        let first = writer.begin_document(names.part);
                        writer.bool("$exists", false);
                        writer.end(first);
                    }
                    part => writer.integer(names.part, part),
                }
            }
        }
    }
}

/// The bucket of a key at this position, with everything in it.
pub(crate) fn bucket_at(spec: &BucketSpec, key: &ReadKey, place: Place) -> FindPlan {
    if let Some(slot) = spec.merged_within() {
        return bucket_at_or_merged(spec, key, slot, place);
    }
    let names = spec.names();
    let filter = RawWriter::build(|writer| {
        writer.elements(&key.elements);
        match spec.identified_by() {
            OrderedBy::Id => {
                let mut id = key.prefix.clone();
                push_place(&mut id, place, spec.id_unit());
                writer.string(ID, &id);
            }
            OrderedBy::Number => writer.integer(names.number, place.time),
            OrderedBy::Start => {
                let unit = spec.id_unit().millis();
                let start = place.time.saturating_mul(unit);
                let range = writer.begin_document(names.start);
                writer.date("$gte", start);
                writer.date("$lt", start.saturating_add(unit));
                writer.end(range);
                match i64::try_from(place.sequence).unwrap_or(i64::MAX) {
                    0 => {
                        let first = writer.begin_document(names.part);
                        writer.bool("$exists", false);
                        writer.end(first);
                    }
                    part => writer.integer(names.part, part),
                }
            }
        }
    });
    FindPlan {
        sort: Document::new(),
        limit: 1,
        hint: spec.identity_index_name(),
        ..find(spec, filter)
    }
}

/// This bucket with its items, if one of them has this time or they are packed.
#[must_use]
pub(crate) fn items_at(
    spec: &BucketSpec,
    bucket: Remembered<'_>,
    time: Option<DateTime>,
) -> FindPlan {
    let filter = RawWriter::build(|writer| {
        bucket.write(spec, writer);
        if let Some(time) = time {
            let path = format!("{}.{}", spec.items(), spec.time().name);
            let any = writer.begin_array("$or");
            let of_rows = writer.begin_element(0);
            writer.date(&path, time.timestamp_millis());
            writer.end(of_rows);
            let packed = writer.begin_element(1);
            fields(writer, &is_packed_filter(spec));
            writer.end(packed);
            writer.end(any);
        }
    });
    let mut projection = doc! { spec.items(): 1 };
    for array in spec.shared_arrays() {
        projection.insert(array.name, 1);
    }
    FindPlan {
        sort: Document::new(),
        limit: 1,
        projection,
        hint: spec.identity_index_name(),
        ..find(spec, filter)
    }
}

/// Those of these buckets that exist, without their items. Later writes build on them, so they must
/// not be rolled back. Includes the field at `position` if records come from a source.
#[must_use]
pub(crate) fn remembered(
    spec: &BucketSpec,
    buckets: &[Remembered<'_>],
    position: Option<&str>,
) -> FindPlan {
    let filter = RawWriter::build(|writer| match (buckets, spec.keys()) {
        ([bucket], _) => bucket.write(spec, writer),
        (_, [field]) if !spec.object_ids() => {
            let of_key = writer.begin_document(field.path);
            let values = writer.begin_array("$in");
            for (index, bucket) in buckets.iter().enumerate() {
                writer.value_of(index, bucket.key);
            }
            writer.end(values);
            writer.end(of_key);
            let of_id = writer.begin_document(ID);
            let ids = writer.begin_array("$in");
            for (index, bucket) in buckets.iter().enumerate() {
                writer.string(&index.to_string(), bucket.id);
            }
            writer.end(ids);
            writer.end(of_id);
        }
        _ => {
            let any = writer.begin_array("$or");
            for (index, bucket) in buckets.iter().enumerate() {
                let branch = writer.begin_element(index);
                bucket.write(spec, writer);
                writer.end(branch);
            }
            writer.end(any);
        }
    });
    let mut projection = header(spec);
    for key in spec.keys() {
        projection.insert(key.path, 1);
    }
    projection.extend(position.map(|path| (path.to_owned(), Bson::Int32(1))));
    FindPlan {
        sort: Document::new(),
        projection,
        hint: spec.identity_index_name(),
        ..find(spec, filter)
    }
    .of_majority()
}

/// The fields of a bucket that a writer relies on, and what it holds for its items.
pub(super) fn header(spec: &BucketSpec) -> Document {
    let names = spec.names();
    let mut header = doc! { ID: 1, names.count: 1, SEALED: 1 };
    if spec.form().may_merge() {
        header.insert(MERGED, 1);
    }
    let form = spec.form().own_fields().iter().map(|own| own.name(names));
    let bytes = spec.max_bytes().map(|_| names.bytes);
    let shared = spec.shared_arrays().map(|array| array.name);
    for name in form.chain(bytes).chain(shared) {
        header.insert(name, 1);
    }
    header
}

/// The keys among these that have a bucket, once for each bucket, up to this number of buckets. The index answers it.
#[must_use]
pub(crate) fn any_buckets(spec: &BucketSpec, keys: &[&[u8]], limit: usize) -> FindPlan {
    let mut projection = Document::new();
    for key in spec.keys() {
        projection.insert(key.path, 1);
    }
    // Where it is a field of the index, it costs nothing.
    if spec.ordered_by() != OrderedBy::Id {
        projection.insert(ID, 0);
    }
    FindPlan {
        sort: Document::new(),
        limit: i64::try_from(limit).unwrap_or(i64::MAX),
        projection,
        ..find(spec, any_key(spec, keys, &Document::new()))
    }
}

/// The open buckets of these keys: key fields, id and count of each.
#[must_use]
pub fn open_buckets(spec: &BucketSpec, keys: &[&[u8]]) -> FindPlan {
    let filter = any_key(spec, keys, &spec.open_condition());
    let mut projection = header(spec);
    for key in spec.keys() {
        projection.insert(key.path, 1);
    }
    FindPlan {
        sort: Document::new(),
        projection,
        hint: spec.open_index_name().unwrap_or_default(),
        ..find(spec, filter)
    }
}
