//! One write call: decides what to read and send next, until every record of a batch is stored or has a
//! reason why it is not.
//!
//! | what is decided | file |
//! | --- | --- |
//! | what is read before a write | `learning` |
//! | what the replies mean for the records, and what follows | `settling` |
//! | which collection it is | `footing` |
//! | which of two records with one id is sent | `own_repeats` |
//! | the result of the call | `report` |
//! | the messages between a call and its executor | `exchange` |
//! | the order of all this | here |

mod exchange;
mod footing;
mod learning;
mod own_repeats;
mod phase;
mod report;
mod settling;

use std::{ops::Range, vec::IntoIter};

pub use self::{
    exchange::{CallEvent, Delivered, Dispatch, Next, Terms},
    report::{Reason, Report, Unstored},
};
use self::{
    learning::Learning,
    phase::{Lessons, Phase, Purpose},
};
use super::{Batch, Ground, Pauses, Round, Uncertain};

/// The most commands of one round that are in flight at the same time.
const IN_FLIGHT: usize = 4;
/// The number of lost races in a row after which the records of a key fail.
const MAX_MISSES: u32 = 1_000;
/// So often a call looks again at a collection because a read or a whole command was refused as if it were
/// another one.
const MAX_STRAYS: u32 = 2;
/// Lost races in a row that are tried again without a pause.
const FREE_MISSES: u32 = 12;
/// The pauses after lost races, in milliseconds.
const PAUSES: Pauses = Pauses::of(1, 16);

/// A write call.
///
/// It does nothing by itself: [`next`](Self::next) says what to do, and [`told`](Self::told) takes the
/// result. It has no clock and draws no random numbers, so the same events lead to the same commands. It may
/// be dropped at any time.
///
/// ```
/// # use bucket_core::{Record, write::{Batch, Call, CallEvent, Cache, Next, Report, Terms}};
/// # fn execute(deed: Next) -> CallEvent<String> { unimplemented!() }
/// fn store(batch: Batch, cache: &mut Cache) -> Report<String> {
///     let mut call = Call::new(batch, Terms::default());
///     loop {
///         match call.next() {
///             Next::Consult => call.consult(cache),
///             Next::Done => return call.end().1,
///             deed => call.told(execute(deed)),
///         }
///     }
/// }
/// ```
#[derive(Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "the flags are independent of each other"
)]
pub struct Call<E> {
    batch: Batch,
    terms: Terms,
    phase: Phase,
    /// What the writes depend on.
    ground: Option<Ground>,
    /// The collection that was found, before its indexes are checked.
    found: Option<Ground>,
    /// It uses what the handle remembers, and adds what it learns.
    has_begun: bool,
    /// The indexes were checked.
    has_looked: bool,
    /// The server may be older than MongoDB 6.0, which does not report that the collection is another one.
    is_naming_unknown: bool,
    /// The collection is not the one that was found.
    is_astray: bool,
    /// What the name belongs to, as the server says, if that is not a plain collection.
    other_kind: Option<&'static str>,
    /// The number of reads and whole commands that were refused as if the collection were another one.
    strays: u32,
    /// What the handle is to learn at the next opportunity.
    lessons: Lessons,
    /// The write concern of a stored record was not met.
    is_uncertain: bool,
    /// The records of callers that left since the last plan,
    gone: Vec<Range<usize>>,
    /// and of those that left before it.
    left: Vec<Range<usize>>,
    doubtful: Vec<Uncertain>,
    report: Report<E>,
    /// The number of failures whose repeats are settled too.
    settled: usize,
}

impl<E: Clone> Call<E> {
    /// Makes a call that stores the records of a batch.
    #[must_use]
    pub fn new(mut batch: Batch, terms: Terms) -> Self {
        if terms.in_a_hurry {
            batch.wait_for_nobody();
        }
        batch.in_transaction = terms.in_transaction;
        Self {
            batch,
            terms,
            phase: Phase::Consults(Purpose::Begin),
            ground: None,
            found: None,
            has_begun: false,
            has_looked: false,
            is_naming_unknown: false,
            is_astray: false,
            other_kind: None,
            strays: 0,
            lessons: Lessons::default(),
            is_uncertain: false,
            gone: Vec::new(),
            left: Vec::new(),
            doubtful: Vec::new(),
            report: Report::default(),
            settled: 0,
        }
    }

    /// The caller of these records has left: they are not wanted any more. Records that were sent are
    /// followed to their outcome.
    pub fn gone(&mut self, records: Range<usize>) {
        self.gone.push(records);
    }

    /// Returns what to do next.
    #[allow(
        clippy::should_implement_trait,
        reason = "an iterator continues without learning the outcome"
    )]
    pub fn next(&mut self) -> Next {
        loop {
            match std::mem::replace(&mut self.phase, Phase::Done) {
                Phase::Done => return Next::Done,
                Phase::Consults(purpose) => {
                    self.phase = Phase::Consults(purpose);
                    return Next::Consult;
                }
                Phase::Looks(look, purpose) => {
                    self.phase = Phase::AwaitsLook(look, purpose);
                    return Next::Look(look);
                }
                Phase::Learns(mut learning) => {
                    let Some(plans) = learning.next(&self.batch) else {
                        self.phase = Phase::Plans;
                        continue;
                    };
                    self.phase = Phase::AwaitsReads(learning);
                    return Next::Read(plans);
                }
                Phase::Plans => self.phase = self.plan(),
                Phase::Sends(rest) => {
                    if let Some(next) = self.send(rest) {
                        return next;
                    }
                }
                Phase::HasRun => self.phase = self.after_run(),
                Phase::Pauses => match self.pause() {
                    Some((pause, patient)) => {
                        self.phase = Phase::AwaitsPause { patient };
                        return pause;
                    }
                    None => self.phase = self.learn(),
                },
                Phase::Ends => {
                    self.settle_the_rest();
                    self.phase = Phase::Consults(Purpose::End);
                }
                waiting => {
                    self.phase = waiting;
                    return Next::Wait;
                }
            }
        }
    }

    /// Takes the result. An event that does not belong to the current step changes nothing.
    pub fn told(&mut self, event: CallEvent<E>) {
        let phase = std::mem::replace(&mut self.phase, Phase::Done);
        self.phase = match (phase, event) {
            (Phase::AwaitsLook(look, purpose), CallEvent::Listed(listing)) => {
                self.listed(look, purpose, listing)
            }
            (Phase::AwaitsReads(mut learning), CallEvent::Found(found)) => {
                let learned = learning.found(&mut self.batch, found);
                self.learned(learned);
                Phase::Learns(learning)
            }
            (Phase::AwaitsTraces(rest), CallEvent::Found(found)) => {
                self.resolve(Some(&found));
                Phase::Sends(rest)
            }
            (Phase::AwaitsTraces(rest), CallEvent::Failed(_) | CallEvent::Refused { .. }) => {
                self.resolve(None);
                Phase::Sends(rest)
            }
            (Phase::AwaitsLook(..) | Phase::AwaitsReads(_), CallEvent::Failed(error)) => {
                self.could_not_read(error)
            }
            (Phase::AwaitsReads(_), CallEvent::Refused { error, failure }) => {
                if self.goes_astray(&failure) {
                    self.look_elsewhere()
                } else {
                    self.could_not_read(error)
                }
            }
            (Phase::AwaitsReplies(rounds, rest), CallEvent::Ended { commands, late }) => {
                for (round, command) in rounds.iter().zip(commands) {
                    self.ended(round, command, late);
                }
                Phase::Sends(rest)
            }
            (Phase::AwaitsPause { patient }, CallEvent::Paused) => {
                if patient {
                    self.batch.waited();
                }
                self.learn()
            }
            (phase, _) => phase,
        };
    }

    /// Returns the batch and the result of the call. Before [`Next::Done`] that is the result so far.
    #[must_use]
    pub fn end(self) -> (Batch, Report<E>) {
        (self.batch, self.report)
    }

    fn learn(&mut self) -> Phase {
        self.batch.advance();
        self.batch.assume_new();
        Phase::Learns(Learning::new(&self.batch))
    }

    fn plan(&mut self) -> Phase {
        let sorted_out = self.batch.sort_out_late();
        for (index, error) in sorted_out.refused {
            self.report.fail_one(index, Reason::Late(error));
        }
        if sorted_out.asks {
            return self.learn();
        }
        self.give_up_on_contention();
        self.report_held_back();
        let has_withdrawn = self.withdraw();
        if self.promote_repeats() || has_withdrawn {
            // The first record of a chain may no longer be the one that was looked for.
            return self.learn();
        }
        // The delivery sets the write concern, because it knows how much time is left.
        let rounds = self.batch.rounds(None);
        if rounds.is_empty() && sorted_out.moved == 0 {
            return match self.batch.patience() {
                Some(_) => Phase::Pauses,
                None if self.batch.can_advance() => self.learn(),
                None => Phase::Ends,
            };
        }
        if self.needs_a_look(&rounds) {
            return Phase::Looks(self.first_look(), Purpose::Send(rounds.into_iter()));
        }
        Phase::Sends(rounds.into_iter())
    }

    /// The next commands of a round; `None` if all were sent.
    fn send(&mut self, mut rest: IntoIter<Round>) -> Option<Next> {
        if !self.doubtful.is_empty() {
            let plans = self.traces();
            self.phase = Phase::AwaitsTraces(rest);
            return Some(Next::Read(plans));
        }
        // What comes next may carry records of a call that has gone since it was planned.
        let is_off = self.report.stopped_by.is_some() || self.is_astray || !self.gone.is_empty();
        // In a session they run one after the other, and the first one may end the transaction.
        let most = if self.terms.in_session { 1 } else { IN_FLIGHT };
        let mut rounds: Vec<Round> = rest.by_ref().take(most).collect();
        if is_off || rounds.is_empty() {
            self.phase = Phase::HasRun;
            return None;
        }
        let collection = match &self.ground {
            Some(Ground::Collection(uuid)) => Some(*uuid),
            _ => None,
        };
        let dispatch = |round: &mut Round| Dispatch {
            statements: round.command().statements(),
            body: round.take_body(),
            collection,
        };
        let commands = rounds.iter_mut().map(dispatch).collect();
        self.phase = Phase::AwaitsReplies(rounds, rest);
        Some(Next::Send(commands))
    }

    fn after_run(&mut self) -> Phase {
        if self.report.stopped_by.is_some() {
            Phase::Ends
        } else if self.is_astray {
            self.look_elsewhere()
        } else {
            Phase::Pauses
        }
    }

    /// Lets the winner of a race continue, for longer the more races are lost. Once no chain can continue at
    /// once, also waits for the writer that reserved a bucket. Returns whether the pause is as long as
    /// patient chains need.
    fn pause(&self) -> Option<(Next, bool)> {
        let going_on = self.batch.front().map(|(_, chain)| chain);
        let (mut lost, mut goes_on_at_once) = (0, false);
        for chain in going_on {
            let over = chain.misses().saturating_sub(FREE_MISSES);
            lost = lost.max(over);
            goes_on_at_once |= over == 0 && !chain.is_patient();
        }
        let lost = (lost > 0).then(|| PAUSES.after(lost));
        let patience = self.batch.patience().filter(|_| !goes_on_at_once);
        let ceiling = lost.max(patience)?;
        let floor = patience.map_or(0, |patience| patience / 2);
        Some((Next::Pause { floor, ceiling }, patience.is_some()))
    }
}
