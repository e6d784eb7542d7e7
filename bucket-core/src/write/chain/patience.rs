//! How long a chain leaves a bucket without records to the writer that reserved it, and one that is open before later
//! ones to who removes it.
//!
//! That writer inserts whole buckets before the reserved one. Each statement first checks that the bucket is
//! still reserved, then inserts. The server may execute other statements between these two steps. If the
//! bucket were taken over and given records there, readers could pass the place where the insert then
//! appears. So a chain does not touch a reserved bucket for longer than loads take. After it takes one over, it
//! also waits for statements in flight to end before it stores the first records. The bucket's owner knows
//! that it has none in flight.

use super::{
    Chain, Known, Need, Tail,
    state::{EmptyBuckets, Overtaken, Patience},
};

/// The pauses before a bucket is taken over, in milliseconds: each lasts at least half as long.
const BEFORE: [u64; 6] = [4, 8, 16, 32, 64, 128];
/// The pauses before a bucket that a later one follows counts as damaged. Whoever removes the later one has done it by then.
const BEFORE_DAMAGED: [u64; 4] = [4, 8, 16, 32];
/// The pause before a bucket that was taken over gets its first records.
const AFTER: u64 = 100;

impl Chain {
    /// Whether it needs only a pause to continue.
    pub(in crate::write) fn is_patient(&self) -> bool {
        self.need() == Need::Patience
    }

    /// The longest pause that is due before the next statement, in milliseconds; at least half of it must
    /// pass. `None` if the chain need not wait.
    pub(in crate::write) fn patience(&self) -> Option<u64> {
        if let Some(overtaken) = self.is_overtaken() {
            return BEFORE_DAMAGED.get(overtaken.pauses).copied();
        }
        let known = self.leaves_alone()?;
        let pauses = match &self.patience {
            Some(waited) if waited.id == known.id && waited.reserved == known.reserved => {
                waited.pauses
            }
            _ => 0,
        };
        if known.reserved {
            BEFORE.get(pauses).copied()
        } else {
            (pauses == 0).then_some(AFTER)
        }
    }

    pub(in crate::write) fn wait_for_nobody(&mut self) {
        self.in_a_hurry = true;
    }

    /// That pause is over.
    pub(in crate::write) fn waited(&mut self) {
        if self.is_overtaken().is_some()
            && let Some(overtaken) = &mut self.overtaken_by
        {
            overtaken.pauses += 1;
            // It may have been removed, or filled, since it was seen.
            self.tail = Tail::Unknown;
            self.look_behind = true;
            self.forget_watermark();
            return;
        }
        let Some(known) = self.leaves_alone() else {
            return;
        };
        let (id, reserved) = (known.id.clone(), known.reserved);
        match &mut self.patience {
            Some(waited) if waited.id == id && waited.reserved == reserved => waited.pauses += 1,
            patience => {
                *patience = Some(Box::new(Patience {
                    id,
                    reserved,
                    pauses: 1,
                }));
            }
        }
        if reserved {
            // It may have records now.
            self.tail = Tail::Unknown;
            self.forget_watermark();
        }
    }

    /// The open bucket, if a later one with a position of the source came after it at the last look.
    fn is_overtaken(&self) -> Option<&Overtaken> {
        let asked = self.watermark.as_ref().is_some_and(|it| it.is_asked());
        self.overtaken_by.as_deref().filter(|_| asked)
    }

    /// That bucket, if the chain has waited long enough.
    pub(super) fn stays_overtaken(&self) -> Option<&Overtaken> {
        let overtaken = self.is_overtaken()?;
        (overtaken.pauses >= BEFORE_DAMAGED.len()).then_some(overtaken)
    }

    /// The bucket without records that another writer may have reserved, if the tail is one.
    fn leaves_alone(&self) -> Option<&Known> {
        let known = match &self.tail {
            Tail::Open(known) if self.spec.form().reserves() => known,
            _ => return None,
        };
        let is_empty = known.count == 0 && !known.fresh;
        let is_own = self.own.as_ref() == Some(&known.id);
        // In a transaction it would always look the same. A collection that refuses buckets without records
        // has no reservations.
        let waits = self.empty_buckets == EmptyBuckets::Reserved && !self.in_a_hurry;
        (is_empty && !is_own && waits).then_some(known)
    }
}
