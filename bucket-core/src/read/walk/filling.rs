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

use crate::bucket::id::Place;

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

    /// Whether the newest bucket is to be asked for before the walk goes on.
    pub(super) fn is_overtaken(&self) -> bool {
        self.is_overtaken
    }

    /// Whether the bucket at this place takes no more.
    pub(super) fn is_settled(&self, place: Place) -> bool {
        self.settled.is_some_and(|settled| place < settled)
    }

    /// What comes before the newest bucket takes no more.
    pub(super) fn settle(&mut self, newest: Option<Place>) {
        self.settled = self.settled.max(newest);
        self.is_overtaken = false;
    }

    /// Whether the bucket at this place came after one that may have got more records since it was read.
    pub(super) fn overtakes(&mut self, place: Place) -> bool {
        let overtakes = self
            .open
            .is_some_and(|open| open < place && !self.is_settled(open));
        if overtakes {
            self.is_overtaken = true;
            // It has records, so those before it are full by now.
            self.settled = self.settled.max(Some(place));
        }
        overtakes
    }

    /// A bucket with room has come at this place.
    pub(super) fn meets_room(&mut self, place: Place) {
        self.open.get_or_insert(place);
    }

    /// The walk goes on behind a bucket that takes no more.
    pub(super) fn pass(&mut self) {
        self.open = None;
    }
}
