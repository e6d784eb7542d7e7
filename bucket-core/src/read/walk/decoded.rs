//! The requested records of one bucket.

use std::cmp::Ordering;

use bson::{DateTime, RawBsonRef, RawDocument, RawDocumentBuf};

use super::{Placed, Walk, read_item::with_key};
use crate::{
    bucket::{
        self, Head, ItemReader, merged::Origins, packed::PackedItems, record::Record, sealed,
    },
    codec::raw::RawWriter,
    error::Damage,
    model::form::Order,
    read::{key_elements, order::Position},
};

/// The items of a bucket.
pub(super) struct Decoded<R> {
    /// The requested records, in array order.
    pub(super) records: Vec<Placed<R>>,
    /// The number of all items.
    pub(super) count: u32,
    /// The first and the last time of all of them.
    pub(super) times: Option<(DateTime, DateTime)>,
    /// The longest span of the buckets that they came from, in milliseconds, if the bucket is merged.
    pub(super) longest_origin: Option<i64>,
}

/// The items of a bucket that were taken so far.
struct Taken<'w, T: Record, R> {
    walk: &'w Walk<T, R>,
    key: &'w T::Key,
    head: &'w Head,
    reader: ItemReader<'w>,
    /// The fields of the key that come with each item.
    key_fields: Option<RawDocumentBuf>,
    is_shown: bool,
    records: Vec<Placed<R>>,
    items: usize,
    times: Option<(i64, i64)>,
}

impl<T: Record, R> Walk<T, R> {
    /// Reads the items of a bucket.
    pub(super) fn decode(
        &self,
        key: &T::Key,
        head: &Head,
        stored: &RawDocument,
    ) -> Result<Decoded<R>, Damage> {
        let spec = T::SPEC;
        if let Some(paths) = &self.route.selected {
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            let stored = sealed::selected(spec, stored, &paths)?;
            return Taken::of(self, key, head, &stored)?.all_rows(&stored);
        }
        match sealed::packed(spec.items(), stored) {
            Some(packed) => Taken::of(self, key, head, stored)?.all_packed(packed),
            None => Taken::of(self, key, head, stored)?.all_rows(stored),
        }
    }

    /// The key fields that are returned with each item.
    fn key_fields(&self, key: &T::Key) -> Option<RawDocumentBuf> {
        let asked = &self.route.key_fields;
        if asked.is_empty() {
            return None;
        }
        let elements = key_elements::<T>(key);
        let all = RawWriter::build(|writer| writer.elements(&elements));
        let of_key = all.iter_elements().filter_map(Result::ok);
        let mut fields = RawDocumentBuf::new();
        for element in of_key.filter(|element| asked.contains(&element.key().as_str())) {
            if let Ok(value) = element.value() {
                fields.append(element.key(), value);
            }
        }
        Some(fields)
    }

    fn is_behind(&self, position: &Position) -> bool {
        let Some(from) = &self.route.from else {
            return true;
        };
        let order = self.route.order.compare(position, from);
        if self.route.descending() {
            order == Ordering::Less
        } else {
            order == Ordering::Greater
        }
    }
}

impl<'w, T: Record, R> Taken<'w, T, R> {
    fn of(
        walk: &'w Walk<T, R>,
        key: &'w T::Key,
        head: &'w Head,
        stored: &'w RawDocument,
    ) -> Result<Self, Damage> {
        Ok(Self {
            walk,
            key,
            head,
            reader: ItemReader::new(T::SPEC, stored)?.at(head.place),
            key_fields: walk.key_fields(key),
            is_shown: walk.route.shows(head),
            records: Vec::with_capacity(head.capacity(T::SPEC)),
            items: 0,
            times: None,
        })
    }

    fn all_rows(mut self, stored: &RawDocument) -> Result<Decoded<R>, Damage> {
        for item in bucket::items(T::SPEC, stored)? {
            self.take(item.map_err(bucket::bson_damage)?)?;
        }
        self.decoded()
    }

    fn all_packed(mut self, packed: &[u8]) -> Result<Decoded<R>, Damage> {
        let mut items = PackedItems::read(packed)?;
        if self.walk.route.filter.is_none() && self.key_fields.is_none() {
            let decode = self.walk.decode.packed;
            while let Some(decoded) = decode(self.key, &self.reader, self.items, &mut items) {
                let (time, record) = decoded?;
                self.add(true, time, record);
            }
        }
        // Where one has to be put together, the others have to be, too.
        while let Some(item) = items.next() {
            self.take(RawBsonRef::Document(item))?;
        }
        self.decoded()
    }

    /// Takes the next item.
    fn take(&mut self, item: RawBsonRef<'_>) -> Result<(), Damage> {
        if self.reader.is_removed(item) {
            self.items += 1;
            return Ok(());
        }
        let is_asked = match (&self.walk.route.filter, item) {
            (Some(filter), RawBsonRef::Document(own)) => {
                filter.matches(own, self.reader.shared_arrays())
            }
            _ => true,
        };
        let item_with_key;
        let item = match (item, &self.key_fields) {
            (RawBsonRef::Document(own), Some(key)) => {
                item_with_key = with_key(own, key);
                RawBsonRef::Document(&item_with_key)
            }
            (item, _) => item,
        };
        let (time, record) = (self.walk.decode.stored)(self.key, &self.reader, self.items, item)?;
        self.add(is_asked, time, record);
        Ok(())
    }

    /// Adds the next item, which is a record.
    #[inline]
    fn add(&mut self, is_asked: bool, time: i64, record: R) {
        let Self { walk, .. } = *self;
        let (first, last) = self.times.unwrap_or((time, time));
        self.times = Some((first.min(time), last.max(time)));
        // Of items that their bucket does not account for: it is reported as damaged.
        let beyond = (self.head.place, u32::MAX);
        let (place, index) = self.reader.place_of(self.items).unwrap_or(beyond);
        let position = Position {
            place,
            time: if let (Order::Arrival, false) = (walk.route.order, walk.route.by_time) {
                place.time
            } else {
                time
            },
            index,
        };
        self.items += 1;
        if is_asked
            && self.is_shown
            && walk.route.range.contains(DateTime::from_millis(time))
            && walk.is_behind(&position)
        {
            self.records.push(Placed { position, record });
        }
    }

    fn decoded(self) -> Result<Decoded<R>, Damage> {
        let date = DateTime::from_millis;
        let count = self.head.check_count(self.items)?;
        if let Some(origins) = self.reader.origins() {
            origins.check_count(count)?;
        }
        Ok(Decoded {
            longest_origin: self.reader.origins().map(Origins::longest),
            records: self.records,
            count,
            times: self.times.map(|(first, last)| (date(first), date(last))),
        })
    }
}
