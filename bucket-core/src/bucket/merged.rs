//! Merged buckets: sealed buckets of a key that became one, of several windows or hybrid ones.
//!
//! A merged bucket is the first of them with the items of all: one after the other, in the order of their places. Its end is
//! the latest of their ends, its count and its aggregates are those of all items. It says which of its items came from which
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
//! origin  = start            minus the end of the origin before it; of the first one, minus the time in the bucket's id
//!           length           of its span, minus that of the origin before it
//!           part             the sequence in its id: 0 for the first bucket of its window
//!           items            their number, minus that of the origin before it
//! ```
//!
//! Each is a LEB128 integer, all but the part in zigzag. Times are in milliseconds. The start of a window is the time in its id. A
//! hybrid bucket starts with a record, up to a second after that.

use bson::{DateTime, RawBsonRef, RawDocument, spec::BinarySubtype};

use super::{
    head::{Head, field, wrong_field},
    id::Place,
};
use crate::{
    codec::leb128::{pull, push, unzigzag, zigzag},
    error::Damage,
    model::{
        form::Span,
        spec::{BucketSpec, TimeUnit},
    },
    time::window::is_window,
};

/// The field of a merged bucket that says where its items came from.
pub(crate) const MERGED: &str = "_merged";

const VERSION: u8 = 1;

/// A bucket whose items are in a merged one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Its window, or the times of the first and the last record of a hybrid bucket.
    pub(crate) start: DateTime,
    pub(crate) end: DateTime,
    /// The sequence in its id: 0 for the first bucket of a window.
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
    if !spec.form().may_merge() {
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
        let unit = spec.id_unit();
        let read = Self::from_bytes(unit, Place::at(start, unit), bytes);
        let read = read.filter(|origins| origins.start() == start);
        read.map(Some).ok_or_else(malformed)
    }

    /// Those of a bucket at this place, whatever its fields say.
    pub(crate) fn at_place(spec: &BucketSpec, stored: &RawDocument, place: Place) -> Option<Self> {
        let bytes = stored_bytes(spec, stored).ok()??;
        Self::from_bytes(spec.id_unit(), place, bytes)
    }

    /// Those of any bucket that may be merged: one that is not has itself. An error if what it says of its span does not fit
    /// its id, or if it has a window that is none.
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
            let are_spans = match spec.form().span() {
                Span::Window => all.all(|origin| is_window(origin.start, origin.end)),
                Span::Records | Span::None => true,
            };
            let is_first = origins.places().next() == Some(head.place);
            are_spans && is_first && origins.spans(fields.start, fields.end)
        };
        let wrong = || wrong_field(spec.names().start, "the start that its id names");
        origins.filter(fits).ok_or_else(wrong)
    }

    /// `None` if they are not in the order of their places, or none.
    pub(crate) fn new(unit: TimeUnit, all: Vec<Origin>) -> Option<Self> {
        let mut places: Vec<(Place, u32)> = Vec::with_capacity(all.len());
        let mut items: u32 = 0;
        for origin in &all {
            let place = origin.place(unit);
            let is_after = places.last().is_none_or(|(last, _)| *last < place);
            if !is_after || origin.end < origin.start {
                return None;
            }
            places.push((place, items));
            items = items.checked_add(origin.items)?;
        }
        (!all.is_empty()).then_some(Self { all, places, items })
    }

    /// Those of a bucket at this place.
    pub(crate) fn from_bytes(unit: TimeUnit, place: Place, bytes: &[u8]) -> Option<Self> {
        let (VERSION, mut bytes) = bytes
            .split_first()
            .map(|(version, rest)| (*version, rest))?
        else {
            return None;
        };
        let mut all = Vec::new();
        let (mut end, mut length, mut items) = (place.date(unit).timestamp_millis(), 0, 0);
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
        let at_place = |origins: &Self| origins.first().time == place.time;
        Self::new(unit, all).filter(at_place)
    }

    /// As they are stored.
    pub(crate) fn to_bytes(&self, unit: TimeUnit) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        // Any two dates have a difference in this type.
        let mut end = i128::from(self.first().date(unit).timestamp_millis());
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

    /// The start of the bucket.
    pub(crate) fn start(&self) -> DateTime {
        // `new` makes none without origins.
        self.all.first().map_or(DateTime::MIN, |first| first.start)
    }

    /// The end of the bucket.
    pub(crate) fn end(&self) -> DateTime {
        let last = self.all.iter().map(|origin| origin.end).max();
        // `new` makes none without origins.
        last.unwrap_or(DateTime::MAX)
    }

    /// The longest of their spans, in milliseconds.
    pub(crate) fn longest(&self) -> i64 {
        let spans = self.all.iter().map(|origin| {
            let (start, end) = (
                origin.start.timestamp_millis(),
                origin.end.timestamp_millis(),
            );
            end.saturating_sub(start)
        });
        spans.max().unwrap_or(0)
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

    /// The place of the last one whose id has this time. In windows, those that are merged are the first ones of their window.
    pub(crate) fn last_of(&self, time: i64) -> Option<Place> {
        let after = self.places.partition_point(|(place, _)| place.time <= time);
        let (place, _) = self.places.get(after.checked_sub(1)?)?;
        (place.time == time).then_some(*place)
    }

    /// Whether a bucket at this place is among them.
    pub(crate) fn has(&self, place: Place) -> bool {
        self.places
            .binary_search_by_key(&place, |(of, _)| *of)
            .is_ok()
    }

    /// The places of all.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> {
        self.places.iter().map(|(place, _)| *place)
    }

    /// The place of the first one, which is that of the bucket.
    fn first(&self) -> Place {
        self.places
            .first()
            .map_or(Place::FIRST, |(place, _)| *place)
    }

    /// The place of the last one.
    pub(crate) fn last(&self) -> Place {
        self.places.last().map_or(Place::FIRST, |(place, _)| *place)
    }

    /// The last one, with its place.
    pub(crate) fn last_origin(&self) -> Option<(Place, Origin)> {
        let (place, _) = self.places.last()?;
        Some((*place, *self.all.last()?))
    }

    /// The span of the bucket that an item came from.
    pub(crate) fn span_of(&self, index: usize) -> Option<(DateTime, DateTime)> {
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

    use super::{Origin, Origins, Place, TimeUnit};

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
        assert_eq!(origins.to_bytes(TimeUnit::Seconds), expected);
        assert_eq!(origins.items, 38);
    }

    proptest! {
        #[test]
        fn each_item_keeps_its_place(
            all in prop::collection::btree_map((-5_i64..5, 0_u64..3), (0_i64..4, 0_u32..5), 1..20),
            past in 0..1_000_i64, seconds in any::<bool>(),
        ) {
            let all = all.into_iter().map(|((start, part), (length, items))| {
                origin((start * HOUR + past, length * HOUR, part, items))
            });
            let all: Vec<Origin> = all.collect();
            let unit = if seconds { TimeUnit::Seconds } else { TimeUnit::Millis };
            let origins = Origins::new(unit, all.clone()).unwrap();
            let bytes = origins.to_bytes(unit);
            let read = Origins::from_bytes(unit, origins.first(), &bytes);
            prop_assert_eq!(read.as_ref(), Some(&origins));
            let mut at = 0;
            for origin in &all {
                for index in 0..origin.items {
                    let place = origin.place(unit);
                    prop_assert_eq!(origins.place_of(at), Some((place, index)));
                    prop_assert_eq!(origins.index_of(place, index), Some(at));
                    let span = origins.span_of(usize::try_from(at).unwrap());
                    prop_assert_eq!(span, Some((origin.start, origin.end)));
                    at += 1;
                }
                prop_assert_eq!(origins.index_of(origin.place(unit), origin.items), None);
            }
            prop_assert_eq!(origins.place_of(at), None);
            for end in 0..bytes.len() {
                // A part of it is never taken for all.
                let part = Origins::from_bytes(unit, origins.first(), &bytes[..end]);
                prop_assert_ne!(part.as_ref(), Some(&origins));
            }
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let mut bytes = bytes;
            for time in [i64::MIN, 0, i64::MAX] {
                let place = Place { time, sequence: 0 };
                Origins::from_bytes(TimeUnit::Seconds, place, &bytes);
            }
            if let Some(version) = bytes.first_mut() {
                *version = 1;
            }
            let place = Place { time: 0, sequence: 0 };
            Origins::from_bytes(TimeUnit::Seconds, place, &bytes);
        }
    }
}
