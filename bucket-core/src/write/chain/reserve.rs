//! Many pages at once, without their passing through the index on open buckets one by one.
//!
//! An entry that is taken out of that index stays in the server's history for minutes, and each
//! opening of the key walks over all of them. So who has whole buckets to store opens the *last* one of
//! them first, without records: it holds the key's one place in the index. The whole ones are then
//! inserted before it, which no reader has seen records of; they never enter the index. Then the
//! reserved bucket gets its records.
//!
//! Nobody else brings records to a reserved bucket. Another writer that needs it takes it over by a
//! statement of its own, and only the next command brings records: a whole bucket is refused by a later one
//! that is not reserved any more, so it gets before the records of others only if both fall into the one
//! statement that inserts it. A reservation is never renewed, so there is one writer that it is good for.

use super::{Chain, Known, Step, Tail, state::EmptyBuckets, tail::Reservation};
use crate::write::Action;

/// Whole buckets that are worth a reservation.
const WORTHWHILE: usize = 2;
/// Buckets of one reservation: with those that reserve and begin they make one command.
const MOST: usize = 998;

impl Chain {
    /// The last of the buckets that the records from `from` on fill, the first of which is this one;
    /// none where they fill too few.
    pub(super) fn worth_reserving(&self, first: &Known, from: usize) -> Option<Known> {
        // Behind a statement that stores records: were all of them refused, or stored before, the bucket
        // would stay empty.
        let follows = from > 0 || self.confirmed;
        if !follows || !self.can_reserve() {
            return None;
        }
        let (mut known, mut at, mut whole) = (first.clone(), from, 0);
        for number in 1.. {
            let take = self.fit(at, &known, known.room());
            let has_room = known.with(take, self.bytes(at, take)).has_room(self.spec);
            whole += usize::from(!has_room);
            at += take;
            if has_room || at >= self.pending.len() || number == MOST {
                break;
            }
            known = self.page_after(Some(known.place), at);
        }
        (whole >= WORTHWHILE).then_some(known)
    }

    fn can_reserve(&self) -> bool {
        // A bucket of one record is whole with its first one. What a bucket holds for its items comes
        // with the first of them.
        let by_model = self.kind.size() > 1
            && self.spec.raised_from().is_none()
            && self.spec.shared_arrays().next().is_none();
        // After a lost race each bucket is asked for on its own.
        by_model && self.empty_buckets == EmptyBuckets::Reserved && self.misses == 0
    }

    pub(super) fn reserve(reservation: Reservation) -> Step {
        Step {
            action: Action::Reserve {
                id: reservation.bucket.id.clone(),
                behind: reservation.behind.clone(),
            },
            take: 0,
            after: Tail::Reserved(reservation),
        }
    }

    /// Inserts a whole bucket before the reserved one, or brings that its first records.
    pub(super) fn next_reserved(&self, reservation: &Reservation, from: usize) -> Step {
        let known = self.page_after(reservation.last, from);
        let take = self.fit(from, &known, known.room());
        let is_whole = !known.with(take, self.bytes(from, take)).has_room(self.spec);
        let is_before = known.place < reservation.bucket.place;
        // Records may have been taken out since the bucket was reserved. It gets the last ones.
        let is_last = from + take >= self.pending.len();
        if is_whole && is_before && !is_last {
            return Step {
                action: Action::Place {
                    id: known.id.clone(),
                    // Whatever others open comes after the last one that was placed.
                    behind: reservation.behind.clone().min(known.id.clone()),
                },
                take,
                after: Tail::Reserved(Reservation {
                    bucket: reservation.bucket.clone(),
                    last: Some(known.place),
                    behind: known.id,
                }),
            };
        }
        self.begin(&reservation.bucket, from)
    }

    /// Brings a reserved bucket its first records.
    fn begin(&self, bucket: &Known, from: usize) -> Step {
        let take = self.fit(from, bucket, bucket.room());
        let id = bucket.id.clone();
        let reserved = true;
        self.page_step(bucket, Action::Begin { id, reserved }, from, take)
    }

    /// Ends a reservation: the bucket takes records then. A collection that refuses that refuses
    /// reservations too, so whoever made this one has ended: the bucket gets its first records at once.
    pub(super) fn take_over(&self, known: &Known, from: usize) -> Step {
        if self.empty_buckets == EmptyBuckets::Refused {
            return self.begin(known, from);
        }
        Step {
            action: Action::TakeOver {
                id: known.id.clone(),
            },
            take: 0,
            after: Tail::Open(Known {
                reserved: false,
                ..known.clone()
            }),
        }
    }

    /// A reserved bucket was taken over.
    pub(super) fn took_over(&mut self) {
        if self.watermark.is_some() {
            // Whole buckets may have been placed since the tail was seen: its positions are to be seen
            // first.
            self.tail = Tail::Unknown;
            self.forget_watermark();
        }
    }
}
