//! Stores many pages at once, without moving each one through the index on open buckets.
//!
//! An entry that is removed from that index stays in the server's history for minutes, and each opening of
//! the key walks over all such entries. So a writer with whole buckets to store opens the *last* one first,
//! without records: it takes the key's one place in the index. The whole buckets are then inserted before it,
//! where no reader has seen records yet; they never enter the index. Then the reserved bucket gets its
//! records.
//!
//! No other writer adds records to a reserved bucket. A writer that needs it first takes it over with a
//! statement of its own, and adds records only in the next command. The server refuses a whole bucket if a
//! later one is no longer reserved. So a whole bucket can get before the records of others only if the
//! takeover and that next command both run during the statement that inserts it. A reservation is never
//! renewed, so only one writer can use it.

use super::{Chain, Known, Step, Tail, state::EmptyBuckets, tail::Reservation};
use crate::write::Action;

/// The fewest whole buckets that are worth a reservation.
const WORTHWHILE: usize = 2;
/// The most buckets of one reservation: with the statements that reserve and begin, they fill one command.
const MOST: usize = 998;

impl Chain {
    /// The last of the buckets that the records from `from` on fill, the first of which is this one; `None`
    /// if they fill too few.
    pub(super) fn worth_reserving(&self, first: &Known, from: usize) -> Option<Known> {
        // Only after a statement that stores records: if all of the records were refused, or already stored,
        // the bucket would stay empty.
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
        // A bucket of one record is complete with its first one. The attributes that a bucket holds for its
        // items come with its first record.
        let by_model = self.kind.size() > 1
            && self.spec.raised_from().is_none()
            && self.spec.shared_arrays().next().is_none();
        // After a lost race each bucket is opened on its own.
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

    /// Inserts a whole bucket before the reserved one, or stores the reserved bucket's first records.
    pub(super) fn next_reserved(&self, reservation: &Reservation, from: usize) -> Step {
        let known = self.page_after(reservation.last, from);
        let take = self.fit(from, &known, known.room());
        let is_whole = !known.with(take, self.bytes(from, take)).has_room(self.spec);
        let is_before = known.place < reservation.bucket.place;
        // Records may have been taken out since the bucket was reserved. It gets the remaining ones.
        let is_last = from + take >= self.pending.len();
        if is_whole && is_before && !is_last {
            return Step {
                action: Action::Place {
                    id: known.id.clone(),
                    // Buckets that others open sort after the last one that was placed.
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

    /// Stores the first records of a reserved bucket.
    fn begin(&self, bucket: &Known, from: usize) -> Step {
        let take = self.fit(from, bucket, bucket.room());
        let id = bucket.id.clone();
        let reserved = true;
        self.page_step(bucket, Action::Begin { id, reserved }, from, take)
    }

    /// Ends a reservation: the bucket then takes records. A collection that refuses empty buckets refuses
    /// reservations too, so the writer of this one has ended, and the bucket gets its first records at once.
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

    /// Whether its open bucket is reserved, maybe by a load of the same source. In a transaction such a bucket
    /// cannot be taken over: the load inserts whole buckets without changing the reserved one, so the transaction
    /// would neither see their positions nor meet a conflict.
    pub(in crate::write) fn meets_a_load_of_its_source(&self) -> bool {
        self.watermark.is_some() && matches!(&self.tail, Tail::Open(known) if known.reserved)
    }

    /// A reserved bucket was taken over.
    pub(super) fn took_over(&mut self) {
        if self.watermark.is_some() {
            // Whole buckets may have been placed since the tail was seen, and their positions must be seen
            // first.
            self.tail = Tail::Unknown;
            self.forget_watermark();
        }
    }
}
