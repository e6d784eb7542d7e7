//! Merged buckets: sealed buckets of several windows of a key that became one.
//!
//! A merged bucket is the first of them with the items of all: one after the other, in the order of their places. Its end is
//! the end of the last one, its count and its aggregates are those of all items. It says which of its items came from which
//! bucket. So each record keeps its position, and with it the order of records, cursor tokens and references.
//!
//! ```json
//! { "_id": "7_1698336000", "sensor_id": 7, "bucket_start": .., "bucket_end": .., "count": 288,
//!   "_merged": Binary(0, ".."), "_sealed": { "first": .., "last": .. }, "items": Binary(128, "..") }
//! ```
//!
//! ```text
//! _merged = 0x01             the version
//!           origin ..        at least one, to the end
//! origin  = start            minus the end of the origin before it; of the first one, minus the start of the bucket
//!           length           of its window, minus that of the origin before it
//!           part             0 for the first bucket of its window
//!           items            their number, minus that of the origin before it
//! ```
//!
//! Each is a LEB128 integer, all but the part in zigzag. Times are in milliseconds.

use bson::{DateTime, RawBsonRef, RawDocument, spec::BinarySubtype};

use super::{
    head::{Head, field, wrong_field},
    id::Place,
};
use crate::{
    codec::leb128::{pull, push, unzigzag, zigzag},
    error::Damage,
    model::spec::{BucketSpec, TimeUnit},
    time::window::is_window,
};

/// The field of a merged bucket that says where its items came from.
pub(crate) const MERGED: &str = "_merged";

const VERSION: u8 = 1;

/// A bucket whose items are in a merged one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Its window.
    pub(crate) start: DateTime,
    pub(crate) end: DateTime,
    /// 0 for the first bucket of the window.
    pub(crate) part: u64,
    /// The number of its items.
    pub(crate) items: u32,
}

impl Origin {
    pub(crate) fn place(&self, unit: TimeUnit) -> Place {
        Place {
            sequence: self.part,
            ..Place::at(self.start, unit)
        }
    }
}

fn malformed() -> Damage {
    wrong_field(MERGED, "the origins of its items")
}

fn stored_bytes<'a>(
    spec: &BucketSpec,
    stored: &'a RawDocument,
) -> Result<Option<&'a [u8]>, Damage> {
    if spec.form().window().is_none() {
        return Ok(None);
    }
    match field(stored, MERGED)? {
        None => Ok(None),
        Some(RawBsonRef::Binary(binary)) if binary.subtype == BinarySubtype::Generic => {
            Ok(Some(binary.bytes))
        }
        Some(_) => Err(malformed()),
    }
}

/// Where the items of a merged bucket came from, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origins {
    all: Vec<Origin>,
    /// The place of each, and the index of its first item.
    places: Vec<(Place, u32)>,
    items: u32,
}

impl Origins {
    /// Those of a bucket; `None` if it is not merged.
    pub(crate) fn read(spec: &BucketSpec, stored: &RawDocument) -> Result<Option<Self>, Damage> {
        let Some(bytes) = stored_bytes(spec, stored)? else {
            return Ok(None);
        };
        let start = super::date_field(stored, spec.names().start)?;
        let read = Self::from_bytes(spec.id_unit(), start, bytes);
        read.map(Some).ok_or_else(malformed)
    }

    /// Those of a bucket that has this start, whatever its fields say.
    pub(crate) fn with_start(
        spec: &BucketSpec,
        stored: &RawDocument,
        start: DateTime,
    ) -> Option<Self> {
        let bytes = stored_bytes(spec, stored).ok()??;
        Self::from_bytes(spec.id_unit(), start, bytes)
    }

    /// Those of any bucket of a window: one that is not merged has itself. An error if what it says of its windows does not fit
    /// its id, or if it is no window.
    pub(crate) fn of(spec: &BucketSpec, stored: &RawDocument, head: &Head) -> Result<Self, Damage> {
        let fields = &head.fields;
        let origins = if let Some(merged) = Self::read(spec, stored)? {
            Some(merged)
        } else {
            let own = Origin {
                start: fields.start,
                end: fields.end,
                part: head.place.sequence,
                items: u32::try_from(head.count)
                    .map_err(|_| wrong_field(spec.names().count, "a number of items"))?,
            };
            Self::new(spec.id_unit(), vec![own])
        };
        let fits = |origins: &Self| {
            let mut all = origins.all.iter();
            let are_windows = all.all(|origin| is_window(origin.start, origin.end));
            let is_first = origins.places().next() == Some(head.place);
            are_windows && is_first && origins.spans(fields.start, fields.end)
        };
        let wrong = || {
            wrong_field(
                spec.names().start,
                "the start of the window that its id names",
            )
        };
        origins.filter(fits).ok_or_else(wrong)
    }

    /// `None` if they are not in the order of their places, or none.
    pub(crate) fn new(unit: TimeUnit, all: Vec<Origin>) -> Option<Self> {
        let mut places: Vec<(Place, u32)> = Vec::with_capacity(all.len());
        let mut items: u32 = 0;
        for origin in &all {
            let place = origin.place(unit);
            let is_after = places.last().is_none_or(|(last, _)| *last < place);
            if !is_after || origin.end <= origin.start {
                return None;
            }
            places.push((place, items));
            items = items.checked_add(origin.items)?;
        }
        (!all.is_empty()).then_some(Self { all, places, items })
    }

    pub(crate) fn from_bytes(unit: TimeUnit, start: DateTime, bytes: &[u8]) -> Option<Self> {
        let (VERSION, mut bytes) = bytes
            .split_first()
            .map(|(version, rest)| (*version, rest))?
        else {
            return None;
        };
        let mut all = Vec::new();
        let (mut end, mut length, mut items) = (start.timestamp_millis(), 0, 0);
        while !bytes.is_empty() {
            let mut next = || pull(&mut bytes);
            let mut signed = || i64::try_from(unzigzag(next()?)).ok();
            let start = end.checked_add(signed()?)?;
            length = signed()?.checked_add(length)?;
            end = start.checked_add(length)?;
            let part = u64::try_from(next()?).ok()?;
            let more = i64::try_from(unzigzag(next()?)).ok()?;
            items = more.checked_add(items)?;
            all.push(Origin {
                start: DateTime::from_millis(start),
                end: DateTime::from_millis(end),
                part,
                items: u32::try_from(items).ok()?,
            });
        }
        Self::new(unit, all).filter(|origins| origins.start() == start)
    }

    /// As they are stored.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        // Any two dates have a difference in this type.
        let mut end = i128::from(self.start().timestamp_millis());
        let (mut length, mut items) = (0, 0);
        for origin in &self.all {
            let (start, next_end) = (
                i128::from(origin.start.timestamp_millis()),
                i128::from(origin.end.timestamp_millis()),
            );
            let (own_length, own_items) = (next_end - start, i128::from(origin.items));
            push(&mut bytes, zigzag(start - end));
            push(&mut bytes, zigzag(own_length - length));
            push(&mut bytes, origin.part.into());
            push(&mut bytes, zigzag(own_items - items));
            (end, length, items) = (next_end, own_length, own_items);
        }
        bytes
    }

    fn start(&self) -> DateTime {
        // `new` makes none without origins.
        self.all.first().map_or(DateTime::MIN, |first| first.start)
    }

    /// The end of the bucket.
    pub(crate) fn end(&self) -> DateTime {
        let last = self.all.iter().map(|origin| origin.end).max();
        // `new` makes none without origins.
        last.unwrap_or(DateTime::MAX)
    }

    /// All of them.
    pub(crate) fn all(&self) -> &[Origin] {
        &self.all
    }

    /// Checks that they account for all items of a bucket with this many.
    pub(crate) fn check_count(&self, count: u32) -> Result<(), Damage> {
        if self.items == count {
            return Ok(());
        }
        Err(Damage::CountMismatch {
            count: count.into(),
            items: usize::try_from(self.items).unwrap_or(usize::MAX),
        })
    }

    /// The place of the bucket that an item came from, and the index of the item there.
    #[inline]
    pub(crate) fn place_of(&self, index: u32) -> Option<(Place, u32)> {
        let (place, first, _) = self.at(index)?;
        Some((place, index - first))
    }

    /// Whether a bucket with these items has this start and this end.
    pub(crate) fn spans(&self, start: DateTime, end: DateTime) -> bool {
        self.start() == start && self.end() == end
    }

    /// The place of the last bucket of a window among them. All that are merged are the first ones of their window.
    pub(crate) fn last_of(&self, window: i64) -> Option<Place> {
        let after = self
            .places
            .partition_point(|(place, _)| place.time <= window);
        let (place, _) = self.places.get(after.checked_sub(1)?)?;
        (place.time == window).then_some(*place)
    }

    /// Whether a bucket at this place is among them.
    pub(crate) fn has(&self, place: Place) -> bool {
        self.last_of(place.time).is_some_and(|last| place <= last)
    }

    /// The places of all.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> {
        self.places.iter().map(|(place, _)| *place)
    }

    /// The place of the last one.
    pub(crate) fn last(&self) -> Place {
        self.places.last().map_or(Place::FIRST, |(place, _)| *place)
    }

    /// The window that an item came from.
    pub(crate) fn window_of(&self, index: usize) -> Option<(DateTime, DateTime)> {
        let (_, _, at) = self.at(u32::try_from(index).ok()?)?;
        let origin = self.all.get(at)?;
        Some((origin.start, origin.end))
    }

    /// The index of an item of the bucket that was at this place.
    pub(crate) fn index_of(&self, place: Place, index: u32) -> Option<u32> {
        let at = self.places.binary_search_by_key(&place, |(of, _)| *of);
        let at = at.ok()?;
        let (origin, (_, first)) = (self.all.get(at)?, self.places.get(at)?);
        (index < origin.items).then(|| first + index)
    }

    fn at(&self, index: u32) -> Option<(Place, u32, usize)> {
        let after = self.places.partition_point(|(_, first)| *first <= index);
        // Of origins without items, the last one: none of them has this item.
        let at = after.checked_sub(1).filter(|_| index < self.items)?;
        let (place, first) = *self.places.get(at)?;
        Some((place, first, at))
    }
}

#[cfg(test)]
mod tests {
    use bson::DateTime;
    use proptest::prelude::*;

    use super::{Origin, Origins, TimeUnit};

    fn origin((start, length, part, items): (i64, i64, u64, u32)) -> Origin {
        Origin {
            start: DateTime::from_millis(start),
            end: DateTime::from_millis(start + length),
            part,
            items,
        }
    }

    const HOUR: i64 = 3_600_000;

    #[test]
    fn the_stored_form_never_changes() {
        let all = [
            (10 * HOUR, HOUR, 0, 12),
            (11 * HOUR, HOUR, 0, 12),
            (11 * HOUR, HOUR, 1, 3),
            (13 * HOUR, HOUR, 0, 11),
        ];
        let origins = Origins::new(TimeUnit::Seconds, all.map(origin).to_vec()).unwrap();
        let expected = [
            1, 0, 128, 186, 183, 3, 0, 24, 0, 0, 0, 0, 255, 185, 183, 3, 0, 1, 17, 128, 186, 183,
            3, 0, 0, 16,
        ];
        assert_eq!(origins.to_bytes(), expected);
        assert_eq!(origins.items, 38);
    }

    proptest! {
        #[test]
        fn each_item_keeps_its_place(
            all in prop::collection::btree_map((-5_i64..5, 0_u64..3), (1_i64..4, 0_u32..5), 1..20),
        ) {
            let all = all.into_iter().map(|((start, part), (length, items))| {
                origin((start * HOUR, length * HOUR, part, items))
            });
            let all: Vec<Origin> = all.collect();
            let unit = TimeUnit::Millis;
            let origins = Origins::new(unit, all.clone()).unwrap();
            let bytes = origins.to_bytes();
            let read = Origins::from_bytes(unit, all[0].start, &bytes);
            prop_assert_eq!(read.as_ref(), Some(&origins));
            let mut at = 0;
            for origin in &all {
                for index in 0..origin.items {
                    let place = origin.place(unit);
                    prop_assert_eq!(origins.place_of(at), Some((place, index)));
                    prop_assert_eq!(origins.index_of(place, index), Some(at));
                    let window = origins.window_of(usize::try_from(at).unwrap());
                    prop_assert_eq!(window, Some((origin.start, origin.end)));
                    at += 1;
                }
                prop_assert_eq!(origins.index_of(origin.place(unit), origin.items), None);
            }
            prop_assert_eq!(origins.place_of(at), None);
            for end in 0..bytes.len() {
                // A part of it is never taken for all.
                let part = Origins::from_bytes(unit, all[0].start, &bytes[..end]);
                prop_assert_ne!(part.as_ref(), Some(&origins));
            }
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let mut bytes = bytes;
            for start in [i64::MIN, 0, i64::MAX] {
                let start = DateTime::from_millis(start);
                Origins::from_bytes(TimeUnit::Seconds, start, &bytes);
            }
            if let Some(version) = bytes.first_mut() {
                *version = 1;
            }
            Origins::from_bytes(TimeUnit::Seconds, DateTime::from_millis(0), &bytes);
        }
    }
}
