//! The records that are stored when a watch starts, as its first events.

use bson::{Bson, DateTime, Document, RawDocument, Timestamp, doc};

use super::{event::WatchEvent, merging};
use crate::{
    bucket::{
        self, ItemReader,
        header::is_header,
        id::BucketId,
        record::Record,
        sealed::{LAST, SEALED},
    },
    check::index_fields,
    codec::raw::printed_id,
    error::{Damage, DamagedBucket},
    model::{form::OrderedBy, spec::ID},
    read::{InBucket, Live, key_document},
};

/// A read of the stored records from a time on, as they were at one moment of the server: what is stored after it
/// is in the change stream from the next moment on.
#[derive(Debug, Clone)]
pub struct CatchUp<T: Record> {
    key: Option<T::Key>,
    from: DateTime,
    moment: Timestamp,
    live: Live,
    /// The time of the events.
    now: DateTime,
    /// How many buckets were taken.
    taken: i64,
}

impl<T: Record> CatchUp<T> {
    /// A read of the records from this time on, at this moment of the server. `live` is what the model's retention
    /// shows, `now` the time of the call.
    #[must_use]
    pub fn new(
        key: Option<T::Key>,
        from: DateTime,
        moment: Timestamp,
        live: Live,
        now: DateTime,
    ) -> Self {
        Self {
            key,
            from,
            moment,
            live,
            now,
            taken: 0,
        }
    }

    /// The command for the buckets that were not taken yet: in the order of an index, key by key, and the oldest
    /// first.
    #[must_use]
    pub fn command(&self) -> Document {
        let spec = T::SPEC;
        let mut filter = Document::new();
        if let Some(key) = &self.key {
            filter.extend(key_document::<T>(key));
        }
        // A bucket without the field is damaged, and has to be found.
        let before = doc! { "$not": { "$lt": self.from } };
        if spec.form().has_span() {
            filter.insert(spec.names().end, before);
        } else {
            let path = format!("{}.{}", spec.items(), spec.time().name);
            let of_rows = doc! { path: { "$gte": self.from } };
            // Packed items, and what is damaged.
            let last = format!("{SEALED}.{LAST}");
            let of_others = doc! { spec.items(): { "$not": { "$type": "array" } }, last: before };
            filter.insert("$or", [of_rows, of_others]);
        }
        // The index on numbers has the newest first.
        let sign = if spec.ordered_by() == OrderedBy::Number {
            -1
        } else {
            1
        };
        let fields = index_fields(spec).into_iter();
        let sort: Document = fields
            .map(|(name, direction)| (name.to_owned(), Bson::Int32(sign * direction)))
            .collect();
        doc! {
            "find": spec.collection(),
            "filter": filter,
            "sort": sort,
            "hint": spec.pages_index_name(),
            "skip": self.taken,
            "readConcern": { "level": "snapshot", "atClusterTime": self.moment },
        }
    }

    /// The events of the next bucket, in the order of its array.
    pub fn take(&mut self, stored: &RawDocument) -> Vec<Result<WatchEvent<T>, DamagedBucket>> {
        self.taken += 1;
        let damaged = |damage| DamagedBucket::new(printed_id(stored), damage);
        match self.records(stored) {
            Ok(records) => records
                .into_iter()
                .map(|event| event.map_err(damaged))
                .collect(),
            // Its records are not shown any more.
            Err(damage) if is_header(T::SPEC, stored, &damage, self.now) => Vec::new(),
            Err(damage) => vec![Err(damaged(damage))],
        }
    }

    fn records(&self, stored: &RawDocument) -> Result<Vec<Result<WatchEvent<T>, Damage>>, Damage> {
        let stored = &*bucket::unsealed(T::SPEC, stored)?;
        let bucket = match bucket::field(stored, ID)? {
            Some(id) => BucketId::<T>::of_stored(id),
            None => None,
        };
        let bucket = bucket.ok_or_else(|| bucket::wrong_field(ID, "an id of the model"))?;
        let key = bucket::key_of::<T>(stored)?;
        let reader = ItemReader::new(T::SPEC, stored)?;
        let dated = bucket::stored_fields(T::SPEC, stored)?.expire_from;
        let mut records = Vec::new();
        for (index, item) in (0_u32..).zip(bucket::items(T::SPEC, stored)?) {
            let item = item.map_err(bucket::bson_damage)?;
            if reader.is_removed(item) {
                continue;
            }
            let at = usize::try_from(index).unwrap_or(usize::MAX);
            let time = bucket::item_time(T::SPEC, at, item)?;
            if time < self.from || !self.live.shows(time, dated) {
                continue;
            }
            let record = reader.decode(at, item);
            records.push(record.map(|item| {
                let (bucket, index) = merging::origin_of(&key, reader.origins(), index)
                    .unwrap_or_else(|| (bucket.clone(), index));
                let stored = InBucket {
                    bucket,
                    index,
                    record: T::assemble(key.clone(), item),
                };
                WatchEvent::of_stored(stored, self.now)
            }));
        }
        Ok(records)
    }
}
