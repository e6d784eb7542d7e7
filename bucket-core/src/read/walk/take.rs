//! What comes: the records of each bucket, held until it is their turn.

use std::cmp::Ordering;

use bson::{RawBsonRef, RawDocument};
use serde::de::DeserializeOwned;

use super::{Placed, Walk};
use crate::{
    bucket::{self, Head, ItemReader},
    error::{Damage, DamagedBucket},
    form::Form,
    id::Place,
    read::order::{Order, Position},
    record::Record,
};

impl<T: Record, R> Walk<T, R> {
    /// Takes the next bucket. Gives the records whose turn it is.
    ///
    /// # Errors
    ///
    /// [`DamagedBucket`] if the document is no bucket of the model. The walk can go on behind it.
    pub fn take(&mut self, stored: &RawDocument) -> Result<Vec<Placed<R>>, DamagedBucket> {
        let damaged = |damage: Damage| DamagedBucket::new(bucket::printed_id(stored), damage);
        let head = bucket::head(T::SPEC, stored).map_err(damaged)?;
        if self.has_come(head.place) {
            return Ok(Vec::new());
        }
        // That of a single one is known.
        let key = match self.route.keys.as_slice() {
            [key] => key.clone(),
            _ => bucket::key_of::<T>(stored).map_err(damaged)?,
        };
        self.longest_seen = self.longest_seen.max(head.fields.span());
        let records = self.decode(&key, &head, stored).map_err(damaged)?;
        let ready = self.ready(&head);
        self.last = Some(head.place);
        self.hold(records);
        if !self.route.by_time && self.route.order != Order::Window {
            // No other bucket has records among them.
            return Ok(self.end());
        }
        Ok(ready)
    }

    /// The records that are left when no more buckets come.
    #[must_use]
    pub fn end(&mut self) -> Vec<Placed<R>> {
        std::mem::take(&mut self.held)
    }

    /// Where parts of a window are found again.
    fn has_come(&self, place: Place) -> bool {
        let Some(last) = self.last.filter(|_| !self.route.is_of_several()) else {
            return false;
        };
        if self.route.descending() {
            place >= last
        } else {
            place <= last
        }
    }

    /// The records of a bucket that are asked for, as they stand in the array.
    fn decode(
        &self,
        key: &T::Key,
        head: &Head,
        stored: &RawDocument,
    ) -> Result<Vec<Placed<R>>, Damage> {
        let spec = T::SPEC;
        let place = head.place;
        let reader = ItemReader::new(spec, stored)?;
        let mut records = Vec::with_capacity(head.capacity(spec));
        let mut items = 0;
        for item in bucket::items(spec, stored)? {
            let index = items;
            items += 1;
            let item = item.map_err(bucket::bson_damage)?;
            let (time, record) = (self.decode)(key, &reader, index, item)?;
            // A document has at most 16 MB.
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            let position = Position {
                place,
                time: if let (Order::Arrival, false) = (self.route.order, self.route.by_time) {
                    place.time
                } else {
                    time
                },
                index,
            };
            if self.route.range.contains(bson::DateTime::from_millis(time))
                && self.is_behind(&position)
            {
                records.push(Placed { position, record });
            }
        }
        head.check_count(items)?;
        Ok(records)
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

    /// What belongs before all records of this bucket and of those behind it.
    fn ready(&mut self, next: &Head) -> Vec<Placed<R>> {
        if !self.route.by_time {
            let same = |last| self.route.order.same_group(last, next.place);
            if self.last.is_some_and(same) {
                return Vec::new();
            }
            return std::mem::take(&mut self.held);
        }
        let Some((first, behind)) = self.times_to_come(next) else {
            return Vec::new();
        };
        let ready = if self.route.descending() {
            self.held
                .partition_point(|held| held.position.time >= behind)
        } else {
            self.held.partition_point(|held| held.position.time < first)
        };
        if ready == self.held.len() {
            return std::mem::take(&mut self.held);
        }
        self.held.drain(..ready).collect()
    }

    /// Bounds on the times of the records of this bucket and of those behind it in the order of the
    /// find: none before the first one, in ascending order, none from the second one on, in
    /// descending order. `None` where there are no bounds.
    fn times_to_come(&self, next: &Head) -> Option<(i64, i64)> {
        let longest = self.route.longest.max(self.longest_seen);
        match T::SPEC.form() {
            Form::Window { .. } => {
                let start = next.fields.start.timestamp_millis();
                Some((start, start.saturating_add(longest)))
            }
            // It begins at its place, or less than the longest duration before it.
            Form::Hybrid { .. } if !self.route.is_of_several() => {
                let unit = T::SPEC.id_unit().millis();
                let place = next.place.time.saturating_mul(unit);
                let end = place.saturating_add(unit).saturating_add(longest);
                Some((place.saturating_sub(longest), end))
            }
            // Whatever comes may belong before what is there.
            _ => None,
        }
    }

    /// Puts records among those that are held.
    fn hold(&mut self, records: Vec<Placed<R>>) {
        if self.held.is_empty() {
            self.held = records;
        } else {
            self.held.extend(records);
        }
        let (by_time, order, descending) = (
            self.route.by_time,
            self.route.order,
            self.route.descending(),
        );
        let compare = |one: &Placed<R>, other: &Placed<R>| {
            let (one, other) = (&one.position, &other.position);
            let ordered = if by_time {
                let place = one
                    .place
                    .cmp(&other.place)
                    .then(one.index.cmp(&other.index));
                one.time.cmp(&other.time).then(place)
            } else {
                order.compare(one, other)
            };
            if descending {
                ordered.reverse()
            } else {
                ordered
            }
        };
        if !self
            .held
            .is_sorted_by(|one, other| compare(one, other).is_le())
        {
            // Stable, and fast on what is nearly sorted; equal places there are none.
            self.held.sort_by(compare);
        }
    }
}

pub(super) fn record<T: Record>(
    key: &T::Key,
    reader: &ItemReader<'_>,
    index: usize,
    item: RawBsonRef<'_>,
) -> Result<(i64, T), Damage> {
    let record = T::assemble(key.clone(), reader.decode(index, item)?);
    Ok((record.time().timestamp_millis(), record))
}

pub(super) fn selected<T: Record, P: DeserializeOwned>(
    _: &T::Key,
    reader: &ItemReader<'_>,
    index: usize,
    item: RawBsonRef<'_>,
) -> Result<(i64, P), Damage> {
    let fields = reader.decode(index, item)?;
    let time = bucket::item_time(T::SPEC, index, item)?;
    Ok((time.timestamp_millis(), fields))
}
