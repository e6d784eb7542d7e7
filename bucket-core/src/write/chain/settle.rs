//! What a chain learns from a reply.

use super::{
    Chain, Step, Tail,
    state::{Beside, EmptyBuckets, Recalled, Refused, Taken},
    suspects::has_ids,
};
use crate::{
    model::form::InTime,
    write::{Action, HeldBack, Put, WriteFailure},
};

impl Chain {
    /// The statement was applied: its records are stored. Returns their indexes.
    pub fn applied(&mut self, step: &Step) -> Vec<usize> {
        self.last = match &step.after {
            Tail::Full(_) | Tail::Reserved(_) => None,
            _ => Some(step.action.id().to_owned()),
        };
        self.guess = None;
        self.assumed = false;
        self.confirmed = true;
        self.tail = step.after.clone();
        self.misses = 0;
        self.taken = None;
        self.outgrown = None;
        self.refused = None;
        self.max_take = self.max_take.saturating_mul(2);
        let last = step.take.checked_sub(1).and_then(|at| self.pending.get(at));
        if let (Some(watermark), Some(last)) = (&mut self.watermark, last) {
            watermark.reach(last.position);
        }
        let stored = self.take(step);
        match &step.action {
            Action::Reserve { id, .. } => self.own = Some(id.clone()),
            Action::TakeOver { .. } => self.took_over(),
            _ => {}
        }
        self.first_is_another();
        stored
    }

    /// The statement was applied, but earlier ones with this many records were passed over. Returns the
    /// indexes of the records that are stored.
    pub(in crate::write) fn applied_past(&mut self, step: &Step, passed: usize) -> Vec<usize> {
        let from = passed.min(self.pending.len());
        let to = passed.saturating_add(step.take).min(self.pending.len());
        if let Some(watermark) = &mut self.watermark
            && let Some(last) = to.checked_sub(1).and_then(|at| self.pending.get(at))
        {
            watermark.reach(last.position);
            self.overtaken |= from < to;
        }
        self.pending
            .drain(from..to)
            .map(|slot| slot.index)
            .collect()
    }

    /// The server passed over statements with this many records: they are planned again. Returns the indexes
    /// of records that cannot be, because their source has got further.
    pub(in crate::write) fn passed_over(&mut self, records: usize) -> Vec<usize> {
        self.misses = self.misses.saturating_add(1);
        self.tail = Tail::Unknown;
        self.look_behind = true;
        self.guess = None;
        self.confirmed = false;
        self.forget_watermark();
        if std::mem::take(&mut self.overtaken) {
            return self.lose(records);
        }
        Vec::new()
    }

    /// The statement was refused because the tail is not as last seen; nothing was changed.
    pub fn missed(&mut self, step: &Step) {
        self.misses = self.misses.saturating_add(1);
        let behind = match &self.tail {
            Tail::NoneOpen => Some(None),
            Tail::Full(known) => Some(Some(known.id.clone())),
            _ => None,
        };
        self.tail = Tail::Unknown;
        self.guess = None;
        self.assumed = false;
        self.confirmed = false;
        self.forget_watermark();
        if self.kind.in_time().is_some_and(InTime::refuses_late) {
            // Others may have stored the same records since, and only then is one that is late refused.
            self.not_asked_from(0);
        }
        if self.recalled == Recalled::Unverified {
            self.recalled = Recalled::InVain;
        }
        self.look_behind |= !step.action.is_lone();
        if step.action.is_known() {
            let taken = u32::try_from(step.take).unwrap_or(u32::MAX);
            let (size, fills_from) = match &step.action {
                Action::Put(put) => (put.size, put.fills_from),
                // It matches a bucket without records.
                Action::Begin { .. } => (self.kind.size(), Some(0)),
                _ => (self.kind.size(), None),
            };
            let marks = self.kind.marks();
            let max = self.spec.max_bytes().map_or(u64::MAX, u64::from);
            let all = self.bytes(0, step.take);
            let last = self.bytes(step.take.saturating_sub(1), 1);
            let own = if marks { all } else { all.saturating_sub(last) };
            let (count, bytes) = match fills_from {
                Some(count) => (count, u64::MAX),
                None if marks => (
                    size.saturating_sub(taken.saturating_add(1)),
                    max - own.min(max),
                ),
                None => (size.saturating_sub(taken), max - own.min(max)),
            };
            let id = step.action.id();
            let (times, seen) = match &self.refused {
                Some(refused) if refused.id == id => (refused.times, refused.seen),
                _ => (0, 0),
            };
            // A record of it may already be in the bucket: that refuses the statement, too, and is checked
            // first.
            let is_guarded = has_ids(self.spec) || self.watermark.is_some();
            self.refused = Some(Box::new(Refused {
                id: id.to_owned(),
                count,
                bytes: bytes.saturating_sub(1),
                seen,
                times: times.saturating_add(u32::from(!is_guarded)),
            }));
        } else if let (
            Action::Put(Put {
                id, lone: false, ..
            }),
            Some(behind),
        ) = (&step.action, behind)
        {
            let (times, beside) = match &self.taken {
                Some(taken) if taken.id == *id && taken.behind == behind => {
                    (taken.times, taken.beside)
                }
                _ => (0, Beside::Unasked),
            };
            self.taken = Some(Box::new(Taken {
                id: id.clone(),
                behind,
                times: times.saturating_add(1),
                beside,
            }));
        }
    }

    /// Whether a statement of this chain that arrives twice stores its records once, whatever has happened to the
    /// bucket in between: it has their ids, or their positions in a source.
    pub(in crate::write) fn tells_repeats(&self) -> bool {
        self.watermark.is_some() || has_ids(self.spec)
    }

    /// Forgets everything that was seen of the buckets.
    pub(in crate::write) fn forget(&mut self) {
        self.tail = Tail::Unknown;
        self.look_behind = true;
        self.guess = None;
        self.remembered = None;
        self.last = None;
        self.met = false;
        self.assumed = false;
        self.confirmed = false;
        self.refused = None;
        self.taken = None;
        self.outgrown = None;
        self.forget_watermark();
    }

    /// The server refused the statement; nothing was changed. Returns the indexes of the records that are
    /// given up.
    pub fn refused(&mut self, step: &Step, failure: &WriteFailure) -> Vec<usize> {
        if failure.is_transient() {
            // A server that cannot take this write now cannot take the next one either.
            self.give_up()
        } else {
            self.failed(step, failure)
        }
    }

    /// The server refused the statement, and ended the transaction with it: no half of it can be tried. Returns the indexes of
    /// the records that are given up.
    pub(in crate::write) fn ended(&mut self, step: &Step) -> Vec<usize> {
        match step.take {
            0 => self.give_up(),
            _ => self.abandon(step),
        }
    }

    /// The statement failed for good; nothing was changed. Returns the indexes of the records that cannot be
    /// stored. Returns none if the statement had several records: then halves of it are tried, until the
    /// record to blame is isolated.
    pub fn failed(&mut self, step: &Step, failure: &WriteFailure) -> Vec<usize> {
        self.tail = Tail::Unknown;
        self.guess = None;
        self.confirmed = false;
        let empties = matches!(
            step.action,
            Action::Reserve { .. } | Action::TakeOver { .. }
        );
        if empties {
            self.empty_buckets = EmptyBuckets::Refused;
            return Vec::new();
        }
        if step.take == 0 {
            return self.give_up();
        }
        let id = step.action.id();
        let passes_by = step.take == 1 && self.kind.passes_by();
        if passes_by && failure.is_outgrown() && self.outgrown.as_deref() != Some(id) {
            // If that bucket does not exist, the same id is tried once more.
            self.outgrown = Some(id.to_owned());
            self.look_behind = true;
            return Vec::new();
        }
        self.outgrown = None;
        if step.take > 1 {
            self.max_take = step.take / 2;
            return Vec::new();
        }
        // The next records may fail too: the size grows again with each success.
        self.max_take = 1;
        self.lose(step.take)
    }

    /// Gives up the records of a statement whose outcome is unknown; they are not tried again.
    pub fn abandon(&mut self, step: &Step) -> Vec<usize> {
        self.forget_watermark();
        self.tail = Tail::Unknown;
        self.confirmed = false;
        self.lose(step.take)
    }

    /// Takes out the pending records with these indexes. Returns their indexes.
    pub(in crate::write) fn withdraw(&mut self, is_gone: impl Fn(usize) -> bool) -> Vec<usize> {
        let mut gone = Vec::new();
        self.pending.retain(|slot| {
            let goes = is_gone(slot.index);
            if goes {
                gone.push(slot.index);
            }
            !goes
        });
        if !gone.is_empty() {
            self.first_is_another();
        }
        gone
    }

    /// Gives up on every pending record.
    pub fn give_up(&mut self) -> Vec<usize> {
        self.lose(self.pending.len())
    }

    /// Gives up the first pending records, which may not be stored; they are not tried again.
    fn lose(&mut self, records: usize) -> Vec<usize> {
        if let Some(first) = self.pending.front().filter(|_| records > 0) {
            self.fails_from(first.position);
        }
        let records = records.min(self.pending.len());
        let lost = self.pending.drain(..records).map(|slot| slot.index);
        let lost: Vec<usize> = lost.collect();
        self.are_unstored(&lost);
        lost
    }

    /// The record at this position may not be stored, if the records come from a source.
    pub(in crate::write) fn fails_from(&mut self, position: i64) {
        if self.watermark.is_some() {
            let first = self
                .failed_from
                .map_or(position, |first| first.min(position));
            self.failed_from = Some(first);
        }
    }

    pub(in crate::write) fn failed_from(&self) -> Option<i64> {
        self.failed_from
    }

    /// Takes out the records after the first one that may not be stored.
    pub(in crate::write) fn take_held_back(&mut self) -> Vec<HeldBack> {
        let Some(failed) = self.failed_from else {
            return Vec::new();
        };
        // Positions rise.
        let held = self.pending.partition_point(|slot| slot.position <= failed);
        let held = self.pending.drain(held..).map(|slot| HeldBack {
            index: slot.index,
            position: slot.position,
            failed,
        });
        let held: Vec<HeldBack> = held.collect();
        self.unstored.extend(held.iter().map(|held| held.index));
        held
    }

    pub(super) fn take(&mut self, step: &Step) -> Vec<usize> {
        let taken = step.take.min(self.pending.len());
        self.pending.drain(..taken).map(|slot| slot.index).collect()
    }

    /// The bucket that took the last record of this chain, unless it is known to be full: a good
    /// guess for the next record.
    #[must_use]
    pub fn last_bucket(&self) -> Option<&str> {
        self.last.as_deref()
    }
}
