//! Buckets that take records while they are read, in order of arrival.
//!
//! The next bucket of a key is opened when the last one is full. But a find may pause between two
//! buckets. It sees the first one with room; then writers fill that bucket and open the next one,
//! and the find returns the next one too. The new records of the first bucket come before all of
//! the second one, and a token in the second bucket would skip them. So the walk returns nothing
//! from a bucket after one with room: it goes back to the earlier one.
//!
//! A bucket takes no more records when a later bucket with records exists, so a read that starts
//! afterwards sees all of it. Full buckets show that themselves. Others (the capacity was raised,
//! or records were removed by hand) do not, and the walk would find them one by one. So it reads
//! the newest bucket before it goes back, and treats all earlier ones as complete.

use crate::bucket::id::Place;

/// What is known about buckets that may take more records.
#[derive(Debug, Default)]
pub(super) struct Filling {
    /// The first bucket that was read with room, of those that may take more records.
    open: Option<Place>,
    /// Buckets before this position take no more records.
    settled: Option<Place>,
    /// A bucket with records was read after the open one.
    is_overtaken: bool,
}

impl Filling {
    pub(super) fn open(&self) -> Option<Place> {
        self.open
    }

    /// Whether the walk must read the newest bucket before it continues.
    pub(super) fn is_overtaken(&self) -> bool {
        self.is_overtaken
    }

    /// Whether the bucket at this position takes no more records.
    pub(super) fn is_settled(&self, place: Place) -> bool {
        self.settled.is_some_and(|settled| place < settled)
    }

    /// Buckets before the newest one take no more records.
    pub(super) fn settle(&mut self, newest: Option<Place>) {
        self.settled = self.settled.max(newest);
        self.is_overtaken = false;
    }

    /// Whether the bucket at this position was read after one that may have got more records since.
    pub(super) fn overtakes(&mut self, place: Place) -> bool {
        let overtakes = self
            .open
            .is_some_and(|open| open < place && !self.is_settled(open));
        if overtakes {
            self.is_overtaken = true;
            // It has records, so those before it are full now.
            self.settled = self.settled.max(Some(place));
        }
        overtakes
    }

    /// Notes that a bucket with room was read at this position.
    pub(super) fn meets_room(&mut self, place: Place) {
        // A settled one does not come again if it is full now and has no requested records.
        let waiting = self.open.filter(|open| !self.is_settled(*open));
        self.open = waiting.or(Some(place));
    }

    /// The walk continues after a bucket that takes no more records.
    pub(super) fn pass(&mut self) {
        self.open = None;
    }
}
