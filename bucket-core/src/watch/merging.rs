//! What a merge of sealed buckets shows to those who follow: nothing, because no record changes.
//!
//! It is one transaction: first the update of the bucket that has the items from then on, which says where they came from, then
//! the removals of the others. An event of a record in a merged bucket names the bucket that the record was stored in.

use std::collections::HashSet;

use bson::{RawBsonRef, RawDocument, RawDocumentBuf, Timestamp, spec::BinarySubtype};
use foldhash::fast::RandomState;

use super::{event::RecordChange, known::Bucket, times};
use crate::{
    bucket::{
        id::{self, BucketId, Place},
        merged::{MERGED, Origins},
        record::Record,
    },
    codec::raw::{RawWriter, elements},
};

/// The merges of the transaction that is read.
#[derive(Debug, Default)]
pub(super) struct Merging {
    time: Option<Timestamp>,
    /// The ids of the buckets that it may have removed.
    gone: HashSet<String, RandomState>,
    /// The place to go on from is before it: only its first events say what its others are.
    pub(super) is_held: bool,
}

impl Merging {
    /// An event of this time comes next.
    pub(super) fn come_to(&mut self, time: Timestamp) {
        if self.time != Some(time) {
            *self = Self {
                time: Some(time),
                ..Self::default()
            };
        }
        self.is_held = false;
    }

    /// A bucket has the items of all buckets at these places now.
    pub(super) fn takes<T: Record>(&mut self, key: &T::Key, places: impl Iterator<Item = Place>) {
        let gone = places.map(|place| id_at::<T>(key, place));
        self.gone.extend(gone);
        self.is_held = true;
    }

    /// Whether the bucket is in a merged one.
    pub(super) fn has_removed(&mut self, id: &str) -> bool {
        let has_removed = self.gone.contains(id);
        self.is_held |= has_removed;
        has_removed
    }
}

fn id_at<T: Record>(key: &T::Key, place: Place) -> String {
    let mut id = id::prefix(T::SPEC, key);
    id::push_place(&mut id, place, T::SPEC.id_unit());
    id
}

/// The origins in these bytes, of the bucket with this id.
pub(super) fn origins<T: Record>(bucket: &BucketId<T>, bytes: &[u8]) -> Option<Origins> {
    Origins::from_bytes(T::SPEC.id_unit(), bucket.place(), bytes)
}

/// The fields of a bucket once it has these origins.
pub(super) fn with_origins(fields: &RawDocument, bytes: &[u8]) -> RawDocumentBuf {
    RawWriter::build(|writer| {
        let others = elements(fields).map_while(Result::ok);
        for element in others.filter(|element| element.name != MERGED) {
            writer.raw(element.kind, element.name, element.bytes);
        }
        writer.binary(MERGED, BinarySubtype::Generic, bytes);
    })
}

/// Where the items of a bucket came from, if it is known that others were merged into it. Its id says where they begin: its start
/// may have been repaired since its fields were read.
pub(super) fn origins_of<T: Record>(bucket: &BucketId<T>, known: &Bucket) -> Option<Origins> {
    T::SPEC.merge()?;
    Origins::at_place(T::SPEC, known.fields.as_deref()?, bucket.place())
}

/// The bucket that an item of a merged one was stored in, and its index there.
pub(super) fn origin_of<T: Record>(
    key: &T::Key,
    origins: Option<&Origins>,
    index: u32,
) -> Option<(BucketId<T>, u32)> {
    let (place, at) = origins?.place_of(index)?;
    let origin = BucketId::of_stored(RawBsonRef::String(&id_at::<T>(key, place)))?;
    Some((origin, at))
}

/// The removal of a bucket for those who know the buckets that records were stored in: of a merged one, it is one of each.
pub(super) fn removed_origins<T: Record>(
    removed: RecordChange<T>,
    bucket: &BucketId<T>,
    origins: Option<&Origins>,
) -> Vec<(RecordChange<T>, BucketId<T>)> {
    let RecordChange::BucketRemoved {
        key: Some(key),
        expired,
        records,
        ..
    } = &removed
    else {
        return vec![(removed, bucket.clone())];
    };
    let all = origins.map_or_else(Default::default, Origins::all);
    let items = all.iter().map(|origin| u64::from(origin.items));
    // Nobody knows whose records were removed before.
    let are_all = records.map(u64::from) == Some(items.sum());
    let each = all.iter().filter_map(|origin| {
        let id = id_at::<T>(key, origin.place(T::SPEC.id_unit()));
        let removed = RecordChange::BucketRemoved {
            key: Some(key.clone()),
            span: times::span(T::SPEC, Some(origin.start), Some(origin.end)),
            expired: *expired,
            records: are_all.then_some(origin.items),
        };
        Some((removed, BucketId::of_stored(RawBsonRef::String(&id))?))
    });
    let each: Vec<_> = each.collect();
    if each.is_empty() {
        return vec![(removed, bucket.clone())];
    }
    each
}

/// The same change, with the bucket that the record was stored in, if that is in a merged one now.
pub(super) fn at_origin<T: Record>(
    change: RecordChange<T>,
    bucket: &BucketId<T>,
    origins: Option<&Origins>,
) -> (RecordChange<T>, BucketId<T>) {
    // The key of most events is not needed.
    if origins.is_none() {
        return (change, bucket.clone());
    }
    let mut change = change;
    if let (RecordChange::Updated { index, .. } | RecordChange::Removed { index, .. }, Ok(key)) =
        (&mut change, bucket.key())
        && let Some((origin, at)) = origin_of(&key, origins, *index)
    {
        *index = at;
        return (change, origin);
    }
    (change, bucket.clone())
}
