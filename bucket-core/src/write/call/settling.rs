//! What the replies mean for the records.

use bson::RawDocumentBuf;

use super::{
    Call, Delivered, MAX_MISSES, Reason,
    learning::{Learned, READS},
};
use crate::{
    read::FindPlan,
    write::{Answer, Round, WriteFailure, blames_a_record},
};

impl<E: Clone> Call<E> {
    pub(super) fn learned(&mut self, learned: Learned) {
        self.report.duplicates.extend(learned.duplicates);
        for (index, id) in learned.conflicts {
            self.report.fail_one(index, Reason::Conflict { id });
        }
        for (records, damage) in learned.damaged {
            self.report.fail(records, Reason::Damaged(damage));
        }
        self.lessons.saw_record_ids |= learned.saw_record_ids;
    }

    /// Takes the result of a command.
    pub(super) fn ended(&mut self, round: &Round, command: Delivered<E>, late: bool) {
        self.report.commands += 1;
        match command {
            Delivered::Answer(answer) => self.settle(round, &answer),
            // It is planned again.
            Delivered::CalledOff => {}
            Delivered::Failed {
                error,
                unknown,
                refusal,
            } => match refusal {
                Some(failure) if self.goes_astray(&failure) => self.is_astray = true,
                // In a transaction that is the end of all of them.
                Some(failure) if blames_a_record(failure.code) && !self.terms.in_session => {
                    self.refused(round, &failure, error);
                }
                _ => self.lost(round, Reason::Failed { error, unknown }, late),
            },
        }
    }

    fn settle(&mut self, round: &Round, answer: &Answer) {
        let Answer {
            reply,
            doubt,
            resent,
            taken,
            ..
        } = answer;
        self.report.resent += usize::try_from(*resent).unwrap_or(usize::MAX);
        let settled = self.batch.settle_but(round, reply, *doubt, taken);
        self.report.opened.extend(settled.opened);
        self.report.missed += settled.missed;
        self.is_astray |= settled.other_collection;
        self.other_kind = settled.other_kind.or(self.other_kind);
        for failed in settled.failed {
            let misses_an_index = failed.failure.misses_an_index();
            let reason = Reason::Refused {
                action: Box::new(failed.action),
                failure: failed.failure,
            };
            if misses_an_index {
                self.lessons.leaves = true;
                self.report.stop(reason.clone());
            }
            self.report.fail_one(failed.index, reason);
            if self.terms.in_transaction && self.report.stopped_by.is_none() {
                self.report.stop(Reason::TransactionEnded);
            }
        }
        self.report.fail(settled.unknown, Reason::LostTry);
        self.report.fail(settled.unsent, Reason::TakenNumber);
        self.doubtful.extend(settled.doubtful);
        let Some(concern) = settled.write_concern_error else {
            self.report.stored += settled.stored.len();
            return;
        };
        self.is_uncertain = true;
        let reason = Reason::Concern(concern);
        self.report.fail(settled.stored, reason.clone());
        self.report.stop(reason);
    }

    /// The server refused a whole command: smaller ones are sent until the record to blame is isolated.
    fn refused(&mut self, round: &Round, failure: &WriteFailure, error: E) {
        let failed = self.batch.refused(round, failure);
        let unknown = false;
        self.report.fail(failed, Reason::Failed { error, unknown });
    }

    /// A command without a result: its records are not tried again. The call stops if there is no more time,
    /// or if no other command would fare better.
    fn lost(&mut self, round: &Round, reason: Reason<E>, late: bool) {
        let records = self.batch.abandon(round);
        let goes_on = reason.is_unknown()
            && !self.terms.in_session
            // No record of a source may be stored while an earlier one may not be.
            && self.batch.source().is_none()
            && !late;
        // A statement may have no records: then no record's outcome is unknown.
        let leaves_none_open = records.is_empty() && reason.is_unknown();
        self.report.fail(records, reason.clone());
        if goes_on {
            return;
        }
        self.report.stop(if leaves_none_open {
            Reason::NotSent(Box::new(reason))
        } else {
            reason
        });
    }

    /// The reads that tell whether earlier tries have stored their records after all.
    pub(super) fn traces(&self) -> Vec<FindPlan> {
        let asked = self.doubtful.iter().take(READS);
        asked.map(|doubtful| self.batch.trace(doubtful)).collect()
    }

    /// Takes the documents that those reads found, or their failure.
    pub(super) fn resolve(&mut self, found: Option<&[Vec<RawDocumentBuf>]>) {
        let asked = self.doubtful.len().min(READS);
        for (at, doubtful) in self.doubtful.drain(..asked).enumerate() {
            let found = found.and_then(|found| found.get(at));
            let may_be_there = found.is_none_or(|buckets| self.batch.may_hold(&doubtful, buckets));
            if may_be_there {
                // Others may have stored equal records, or the look failed.
                let records = self.batch.left_unknown(&doubtful);
                self.report.fail(records, Reason::LostTry);
            } else {
                self.report.missed += 1;
                self.batch.refused_after_all(&doubtful);
            }
        }
    }

    /// Reports records after one of their source that may not be stored.
    pub(super) fn report_held_back(&mut self) {
        for held in self.batch.take_held_back() {
            let index = held.index;
            let reason = match &self.report.stopped_by {
                // The next call would not store them in this transaction, either.
                Some(Reason::TransactionEnded) => {
                    Reason::NotSent(Box::new(Reason::TransactionEnded))
                }
                _ => Reason::HeldBack(held),
            };
            self.report.fail_one(index, reason);
        }
    }

    /// Takes out the records of callers that have left. Records that are still pending were not sent. Returns
    /// whether there are any.
    pub(super) fn withdraw(&mut self) -> bool {
        if self.gone.is_empty() {
            return false;
        }
        let gone = std::mem::take(&mut self.gone);
        let is_gone = |index| gone.iter().any(|records| records.contains(&index));
        let withdrawn = self.batch.withdraw(is_gone);
        let are_some = !withdrawn.is_empty();
        self.report.fail(withdrawn, Reason::Withdrawn);
        self.left.extend(gone);
        are_some
    }

    pub(super) fn give_up_on_contention(&mut self) {
        let front: Vec<usize> = self.batch.front().map(|(at, _)| at).collect();
        for at in front {
            let chain = &mut self.batch.chains[at];
            if let Some(damage) = chain.stopped_by() {
                let left = chain.give_up();
                self.report.fail(left, Reason::Damaged(damage));
            }
            let attempts = chain.misses();
            if attempts > MAX_MISSES {
                let left = chain.give_up();
                self.report.fail(left, Reason::Contention { attempts });
            }
            if self.terms.in_transaction && chain.meets_a_load_of_its_source() {
                let left = chain.give_up();
                self.report.fail(left, Reason::Reserved);
            }
        }
    }

    /// Settles every record that is left; nothing more is done.
    pub(super) fn settle_the_rest(&mut self) {
        self.report_held_back();
        let left = self.batch.give_up();
        // Every record left has a reason; if not, it must still not vanish silently.
        let reason = match &self.report.stopped_by {
            Some(reason @ Reason::NotSent(_)) => reason.clone(),
            Some(reason) => Reason::NotSent(Box::new(reason.clone())),
            None => Reason::Contention { attempts: 0 },
        };
        self.report.fail(left, reason);
        self.settle_own_repeats();
    }
}
