//! Buckets that take records while they are read, in the order of arrival.
//!
//! The next bucket of a key is opened once the last one is full. But a find may stop between two buckets: it
//! sees the first one with room, others fill it and open the next one, and the find gives that too. What
//! they brought to the first one comes before all of the second one, and a token in that would pass it. So
//! nothing is given of a bucket that comes after one with room: the walk goes back to that one.
//!
//! A bucket takes no more once one with records was seen after it, so a read that begins later sees all of it.
//! Full ones say so themselves; of others (the capacity was raised, records were taken out by hand) the walk
//! would find out one by one. So it asks for the newest bucket before it goes back, and takes what comes before
//! that as it is.

use bson::{Document, RawDocument, doc};

use super::Walk;
use crate::{
    bucket::{self, Head},
    id::Place,
    read::{FindPlan, order::Position},
    record::Record,
    spec::BucketSpec,
};

/// What is known of buckets that may take more records.
#[derive(Debug, Default)]
pub(super) struct Filling {
    /// The first bucket that came with room.
    open: Option<Place>,
    /// Buckets before this place take no more.
    settled: Option<Place>,
    /// A bucket with records came after the open one.
    is_overtaken: bool,
}

impl Filling {
    pub(super) fn open(&self) -> Option<Place> {
        self.open
    }

    fn is_settled(&self, place: Place) -> bool {
        self.settled.is_some_and(|settled| place < settled)
    }
}

impl<T: Record, R> Walk<T, R> {
    /// In the order of arrival, after a bucket has come that was filled while one before it was read: the
    /// newest bucket of the key. It is to be read and given to [`settle`](Self::settle); then the walk goes on with
    /// another [`find`](Self::find).
    #[must_use]
    pub fn to_settle(&self) -> Option<FindPlan> {
        let plan = self.filling.is_overtaken.then(|| self.route.newest());
        plan.flatten()
    }

    /// Goes back to the bucket that has got more records, behind those that were given. `newest` is what
    /// [`to_settle`](Self::to_settle) has found.
    pub fn settle(&mut self, newest: Option<&RawDocument>) {
        let newest = newest.and_then(|stored| bucket::place_alone(T::SPEC, stored));
        let filling = &mut self.filling;
        filling.settled = filling.settled.max(newest);
        filling.is_overtaken = false;
    }

    /// Whether the bucket at this place came after one that may have got more records since it was read.
    pub(super) fn overtakes(&mut self, place: Place) -> bool {
        let filling = &mut self.filling;
        let overtakes = filling
            .open
            .is_some_and(|open| open < place && !filling.is_settled(open));
        if overtakes {
            filling.is_overtaken = true;
            // It has records, so those before it are full by now.
            filling.settled = filling.settled.max(Some(place));
        }
        overtakes
    }

    /// Goes on behind the bucket at this place.
    pub(super) fn pass_for_good(&mut self, place: Place) {
        self.filling.open = None;
        self.last = Some(place);
    }

    /// Goes on behind a bucket of so many records: behind the last of them, if it takes more.
    pub(super) fn pass(&mut self, head: &Head, count: u32, stored: &RawDocument) {
        let place = head.place;
        let takes_more = self.route.is_of_arrivals()
            && !self.filling.is_settled(place)
            && has_room(T::SPEC, head, count, stored);
        if !takes_more {
            return self.pass_for_good(place);
        }
        self.filling.open.get_or_insert(place);
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

/// What a bucket fulfils that may take more records.
pub(super) fn takes_more(spec: &BucketSpec) -> Document {
    let mut condition = spec.open_condition();
    if spec.form().mark().is_none() {
        // After the capacity was raised the index counts some of them as full.
        let below = i32::try_from(spec.size()).unwrap_or(i32::MAX);
        condition.insert(spec.names().count, doc! { "$lt": below });
    }
    condition
}

/// The same of a bucket that came.
fn has_room(spec: &BucketSpec, head: &Head, count: u32, stored: &RawDocument) -> bool {
    if let Some(mark) = spec.form().mark() {
        return stored
            .get_bool(mark.name(spec.names()))
            .is_ok_and(|mark| !mark);
    }
    let by_bytes = spec.max_bytes().is_none_or(|max| {
        // One from before the model counted bytes takes no more.
        let is_counted = matches!(stored.get(spec.names().bytes), Ok(Some(_)));
        is_counted && head.fields.bytes < u64::from(max)
    });
    count < spec.size() && by_bytes
}
