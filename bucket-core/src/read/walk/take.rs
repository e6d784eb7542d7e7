//! Takes buckets as they are read, and holds their records until it is their turn.

use std::cmp::Ordering;

use bson::RawDocument;

use super::{Placed, Walk, edge::begins, room::has_room};
use crate::{
    bucket::{
        self, Head,
        id::{self, Place},
        record::Record,
    },
    codec::raw::printed_id,
    error::{Damage, DamagedBucket},
    model::form::{Order, OrderedBy},
    read::{arrange::arrange, order::Position, span::believed_span},
};

/// What a walk returns when it takes a bucket.
#[derive(Debug)]
#[non_exhaustive]
pub struct Ready<R> {
    /// The records whose turn it is.
    pub records: Vec<Placed<R>>,
    /// Damaged buckets whose turn comes after these records.
    pub damaged: Vec<Placed<DamagedBucket>>,
}

impl<R> Default for Ready<R> {
    fn default() -> Self {
        Self {
            records: Vec::new(),
            damaged: Vec::new(),
        }
    }
}

impl<R> Ready<R> {
    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.damaged.is_empty()
    }
}

/// A bucket that was read.
enum Came<R> {
    Again,
    /// With the requested records, and the number of all its records.
    Healthy(Head, Vec<Placed<R>>, u32),
    /// With its header, if that can be read.
    Damaged(Option<Head>, Damage),
}

/// Which of two records comes first.
#[derive(Debug, Clone, Copy)]
struct Turn {
    by_time: bool,
    order: Order,
    descending: bool,
}

impl Turn {
    fn compare(self, one: &Position, other: &Position) -> Ordering {
        let ordered = if self.by_time {
            let place = one
                .place
                .cmp(&other.place)
                .then(one.index.cmp(&other.index));
            one.time.cmp(&other.time).then(place)
        } else {
            self.order.compare(one, other)
        };
        if self.descending {
            ordered.reverse()
        } else {
            ordered
        }
    }

    fn sort_damaged(self, damaged: &mut [Placed<DamagedBucket>]) {
        damaged.sort_by(|one, other| self.compare(&one.position, &other.position));
    }

    /// The order of records at these positions, by their indexes.
    fn order_of(self, positions: &[Position]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..positions.len()).collect();
        // Stable, and fast for nearly sorted data. Positions are never equal.
        order.sort_by(|one, other| self.compare(&positions[*one], &positions[*other]));
        order
    }
}

/// Those that may still come, of what a walk has named.
fn retain_to_come(named: &mut Vec<(Place, String)>, last: Place, descending: bool) {
    named.retain(|(of, _)| {
        if descending {
            of.time <= last.time
        } else {
            of.time >= last.time
        }
    });
}

impl<T: Record, R> Walk<T, R> {
    /// Takes the next bucket. Returns what is ready: records, then damaged buckets. The walk can
    /// continue after the damaged ones.
    ///
    /// A damaged bucket has its turn after all records that sort between its own. So what comes
    /// before it is complete, and a token at its position leaves nothing out.
    ///
    /// Returns nothing from a bucket if an earlier one may have got more records since it was read;
    /// see [`to_settle`](Self::to_settle).
    pub fn take(&mut self, stored: &RawDocument) -> Ready<R> {
        match self.read(stored) {
            Came::Again => Ready::default(),
            Came::Healthy(head, records, count) => {
                if count > 0 && self.filling.overtakes(head.place) {
                    return Ready::default();
                }
                let ready = self.ready(Some(&head), head.place);
                self.pass(&head, count, stored);
                self.hold(records);
                self.or_all(ready)
            }
            Came::Damaged(head, damage) => self.take_damaged(stored, head.as_ref(), damage),
        }
    }

    fn take_damaged(
        &mut self,
        stored: &RawDocument,
        head: Option<&Head>,
        damage: Damage,
    ) -> Ready<R> {
        let damage = DamagedBucket::new(printed_id(stored), damage);
        let place = self.place_of(stored);
        let window = match place {
            None => self.window_of(stored),
            Some(_) => None,
        };
        let has_passed = match (place, window) {
            (Some(_), _) => false,
            (None, Some(window)) => self.has_named(window, damage.id()),
            (None, None) => self.has_passed(stored),
        };
        if has_passed {
            self.passed = self.passed.saturating_add(1);
            return Ready::default();
        }
        let place = place.filter(|place| !self.has_come(*place));
        if place.is_some_and(|place| self.filling.overtakes(place)) {
            return Ready::default();
        }
        let mut ready = match place.or(window) {
            Some(place) => self.ready(head, place),
            None => Ready::default(),
        };
        if let Some(place) = place {
            self.pass_for_good(place);
        }
        if (place, window, self.last) == (None, None, None) && self.group.is_none() {
            // Its position follows from where the walk began: the records of that window come before it.
            self.group = self.route.from.map(|from| from.place);
        }
        let descending = self.route.descending();
        let placed = Placed {
            position: match (self.slot_of(place.or(window)), window) {
                (Some((first, last)), _) => {
                    let edge = if descending { first } else { last };
                    Position::of_damaged_without_part(edge, descending)
                }
                (None, Some(window)) => Position::of_damaged_without_part(window, descending),
                (None, None) => self.position_of_damaged(),
            },
            record: damage,
        };
        if self.route.by_time {
            // Held records may sort before or after it.
            ready.damaged.push(placed);
        } else if self.is_news(&placed.position) {
            self.damaged.push(placed);
        } else {
            self.passed = self.passed.saturating_add(1);
        }
        self.or_all(ready)
    }

    /// The remaining records when no more buckets come.
    #[must_use]
    pub fn end(&mut self) -> Ready<R> {
        let mut damaged = std::mem::take(&mut self.damaged);
        self.in_turn(&mut damaged);
        Ready {
            records: std::mem::take(&mut self.held),
            damaged,
        }
    }

    /// Sorts damaged buckets: the server may sort one without a part before the other parts of its window.
    fn in_turn(&self, damaged: &mut [Placed<DamagedBucket>]) {
        let turn = Turn {
            by_time: false,
            ..self.turn()
        };
        turn.sort_damaged(damaged);
    }

    /// Returns all held records if the order does not let buckets interleave.
    fn or_all(&mut self, ready: Ready<R>) -> Ready<R> {
        if !self.route.by_time && !self.route.interleaves() {
            return self.end();
        }
        ready
    }

    fn read(&mut self, stored: &RawDocument) -> Came<R> {
        let head = match bucket::head(T::SPEC, stored) {
            Ok(head) => head,
            Err(damage) => return Came::Damaged(None, damage),
        };
        // The key of a walk over one key is known.
        let key = match self.route.keys.as_slice() {
            [key] => Ok(key.clone()),
            _ => bucket::key_of::<T>(stored),
        };
        let checked = match (&key, self.route.read.as_slice()) {
            (_, [read]) => bucket::check_id(T::SPEC, stored, &read.prefix),
            (Ok(key), _) => bucket::check_id(T::SPEC, stored, &id::prefix(T::SPEC, key)),
            (Err(_), _) => Ok(()),
        };
        if let Err(damage) = checked {
            return Came::Damaged(None, damage);
        }
        if self.has_come(head.place) {
            return Came::Again;
        }
        match key.and_then(|key| self.decode(&key, &head, stored)) {
            Ok(decoded) => {
                let span = believed_span(T::SPEC, &head.fields, decoded.times);
                // Of a merged one it is known how long it may be.
                let span = match decoded.longest_origin {
                    Some(own) if span <= self.route.longest => own,
                    _ => span,
                };
                self.longest_seen = self.longest_seen.max(span);
                Came::Healthy(head, decoded.records, decoded.count)
            }
            Err(damage) => Came::Damaged(Some(head), damage),
        }
    }

    /// The place of a bucket, unless what its place follows from is damaged.
    pub(super) fn place_of(&self, stored: &RawDocument) -> Option<Place> {
        let place = bucket::place_alone(T::SPEC, stored)?;
        match (T::SPEC.ordered_by(), self.route.read.as_slice()) {
            (OrderedBy::Id, [key]) => {
                let checked = bucket::check_id(T::SPEC, stored, &key.prefix);
                checked.is_ok().then_some(place)
            }
            _ => Some(place),
        }
    }

    /// The window of a bucket of the walk's key that has no place in it.
    fn window_of(&self, stored: &RawDocument) -> Option<Place> {
        let is_of_several = self.route.is_of_several();
        bucket::window_alone(T::SPEC, stored).filter(|_| !is_of_several)
    }

    /// Where buckets may be that share a merged one with the bucket at this place, which is damaged: its turn is after all of
    /// them, so that a token of its position leaves nothing out. What comes later is not merged with them yet, and may still come.
    fn slot_of(&self, place: Option<Place>) -> Option<(Place, Place)> {
        if self.route.by_time {
            return None;
        }
        let (merging, place) = (self.route.merging()?, place.or(self.last)?);
        let (first, last) = merging.slot(place)?;
        let time = merging.last_until(place);
        Some((first, Place { time, ..last }))
    }

    /// Whether a bucket without a place in this window has come before. Every further find has those of
    /// the windows from that of the last bucket on, too.
    fn has_named(&mut self, window: Place, id: &str) -> bool {
        let descending = self.route.descending();
        if let Some(last) = self.last {
            retain_to_come(&mut self.without_part, last, descending);
        }
        let has_named = self.without_part.iter().any(|(_, named)| named == id);
        if !has_named {
            self.without_part.push((window, id.to_owned()));
        }
        has_named
    }

    /// Whether a bucket without a place is one of those that the walk begins with, and has begun
    /// already. Every further find of the walk has them, too.
    fn has_passed(&self, stored: &RawDocument) -> bool {
        let [key] = self.route.read.as_slice() else {
            return false;
        };
        let has_begun =
            self.route.from.is_some() || self.last.is_some() || self.filling.open().is_some();
        let descending = self.route.descending();
        has_begun && begins(T::SPEC, &key.prefix, stored, descending)
    }

    /// The position of a damaged bucket: its own, or that of the last bucket with a known position.
    fn position_of_damaged(&self) -> Position {
        let descending = self.route.descending();
        let edge = if descending {
            Place::LAST
        } else {
            Place::FIRST
        };
        let after = |place: Place| Position::of_damaged(place, descending);
        let last = self.last.map(after);
        match self.route.from {
            // The last bucket takes more records, which come after this position.
            Some(from) if self.filling.open().is_some() => {
                let from = from.of_damaged_after();
                last.filter(|last| self.route.order.compare(last, &from).is_gt())
                    .unwrap_or(from)
            }
            from => last
                .or_else(|| from.map(|from| after(from.place)))
                .unwrap_or_else(|| after(edge)),
        }
    }

    /// Whether a damaged bucket at this position was not returned before the walk started.
    fn is_news(&self, position: &Position) -> bool {
        let Some(from) = &self.route.from else {
            return true;
        };
        match self.route.order.compare(position, from) {
            Ordering::Equal => false,
            order => (order == Ordering::Less) == self.route.descending(),
        }
    }

    /// Whether the bucket was read before. Parts of a window may be found again.
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

    /// What sorts before all records of the bucket at this position and of later ones.
    fn ready(&mut self, next: Option<&Head>, place: Place) -> Ready<R> {
        let group = self.group.replace(place);
        if !self.route.by_time && self.route.interleaves() {
            return self.complete_before(place);
        }
        if !self.route.by_time {
            let same = |group| self.route.order.same_group(group, place);
            if group.is_some_and(same) {
                return Ready::default();
            }
            return self.end();
        }
        let Some((first, behind)) = next.and_then(|next| self.times_to_come(next)) else {
            return Ready::default();
        };
        let ready = if self.route.descending() {
            self.held
                .partition_point(|held| held.position.time >= behind)
        } else {
            self.held.partition_point(|held| held.position.time < first)
        };
        Ready {
            records: if ready == self.held.len() {
                std::mem::take(&mut self.held)
            } else {
                self.held.drain(..ready).collect()
            },
            damaged: Vec::new(),
        }
    }

    /// What sorts before all records of the windows that this bucket and those after it can have.
    fn complete_before(&mut self, place: Place) -> Ready<R> {
        let descending = self.route.descending();
        let last = self
            .route
            .merging()
            .map_or(place.time, |merging| merging.last_until(place));
        let is_complete = |position: &Position| {
            if descending {
                position.place.time > last
            } else {
                position.place.time < place.time
            }
        };
        let ready = self
            .held
            .partition_point(|held| is_complete(&held.position));
        let (mut damaged, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.damaged)
            .into_iter()
            .partition(|damaged| is_complete(&damaged.position));
        self.damaged = rest;
        self.in_turn(&mut damaged);
        let records = if ready == self.held.len() {
            std::mem::take(&mut self.held)
        } else {
            self.held.drain(..ready).collect()
        };
        Ready { records, damaged }
    }

    /// Bounds on the times of the records in this bucket and in later ones of the find. In
    /// ascending order, none is before the first bound; in descending order, none is at or after
    /// the second. `None` if there are no bounds.
    fn times_to_come(&self, next: &Head) -> Option<(i64, i64)> {
        let longest = self.route.own_longest.max(self.longest_seen);
        match self.route.order {
            Order::Window => {
                let start = next.fields.start.timestamp_millis();
                let unit = T::SPEC.id_unit().millis();
                let last = self.route.merging().map_or(start, |merging| {
                    let last = merging.last_until(next.place).saturating_add(1);
                    last.saturating_mul(unit)
                });
                Some((start, start.max(last).saturating_add(longest)))
            }
            // It starts at its position, or up to the longest duration before it.
            Order::Bucket if !self.route.is_of_several() => {
                let unit = T::SPEC.id_unit().millis();
                let place = next.place.time.saturating_mul(unit);
                let last = self
                    .route
                    .merging()
                    .map_or(next.place.time, |merging| merging.last_until(next.place));
                let end = last.saturating_add(1).saturating_mul(unit);
                Some((place.saturating_sub(longest), end.saturating_add(longest)))
            }
            // Later records may sort before any held record.
            Order::Arrival | Order::Bucket => None,
        }
    }

    /// Adds records to those that are held.
    fn hold(&mut self, records: Vec<Placed<R>>) {
        if self.held.is_empty() {
            self.held = records;
        } else {
            self.held.extend(records);
        }
        let turn = self.turn();
        let in_turn = |one: &Placed<R>, other: &Placed<R>| {
            turn.compare(&one.position, &other.position).is_le()
        };
        if !self.held.is_sorted_by(in_turn) {
            let positions: Vec<Position> = self.held.iter().map(|held| held.position).collect();
            arrange(&mut self.held, turn.order_of(&positions));
        }
    }

    fn turn(&self) -> Turn {
        Turn {
            by_time: self.route.by_time,
            order: self.route.order,
            descending: self.route.descending(),
        }
    }

    /// Continues after the bucket at this position.
    fn pass_for_good(&mut self, place: Place) {
        self.filling.pass();
        self.last = Some(place);
    }

    /// Continues after a bucket with this many records: after its last record if it takes more.
    fn pass(&mut self, head: &Head, count: u32, stored: &RawDocument) {
        let place = head.place;
        let takes_more = self.route.is_of_arrivals()
            && !self.filling.is_settled(place)
            && has_room(T::SPEC, head, count, stored);
        if !takes_more {
            return self.pass_for_good(place);
        }
        self.filling.meets_room(place);
        if let Some(index) = count.checked_sub(1) {
            let seen = Position {
                place,
                time: place.time,
                index,
            };
            let is_news = |from: &Position| self.route.order.compare(from, &seen).is_lt();
            if self.route.from.as_ref().is_none_or(is_news) {
                self.route.from = Some(seen);
            }
        }
    }
}
