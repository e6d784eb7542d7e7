//! One command, sent until its outcome is known or time runs out: what to do next, and what a reply, a fault
//! or silence means.
//!
//! The command has a number in a session. The server keeps which statements of that number it has applied,
//! across failovers, and answers a repetition from that record. So the same command may be sent any number of
//! times. A retry under another number is impossible as long as the first attempt may still arrive.
//!
//! Source of the protocol: the retryable writes of MongoDB's driver specifications. The driver uses it for
//! its own operations, with one repetition; here there are as many as needed.
//!
//! | what is decided | file |
//! | --- | --- |
//! | what a fault leaves open | `fault` |
//! | what a reply says about the whole command | `reply` |
//! | the messages between a delivery and its executor | `exchange` |
//! | the statements of an attempt if replies to the whole command get lost | `parts` |
//! | whether a refusal is final after a lost attempt, and the next step | here |

mod exchange;
mod fault;
mod parts;
mod reply;

use std::ops::Range;

use bson::Document;

pub use self::{
    exchange::{Answer, Deed, Ended, Event},
    fault::{COLLECTION_UUID, Fault, refuses_naming},
    parts::part_of,
    reply::asks_again,
};
use self::{
    parts::Parts,
    reply::{misses_some, replayed},
};
use super::{Certainty, Pauses};

/// The number of attempted numbers, old or used by another command, after which no more are tried.
const MAX_NUMBERS: u32 = 3;

/// The delivery of a command to the server.
///
/// It does nothing by itself: [`next`](Self::next) says what to do, and [`told`](Self::told) takes the
/// result. It may be dropped at any time.
///
/// ```
/// use bson::doc;
/// use bucket_core::write::{Deed, Delivery, Ended, Event, Fault};
///
/// let mut delivery = Delivery::new(1);
/// assert_eq!(delivery.next(), Deed::Number { above: 0 });
/// delivery.told(Event::Number(7));
/// assert_eq!(delivery.next(), Deed::Send { number: Some(7), named: true });
/// delivery.told(Event::Fault(Fault::Lost));
/// assert_eq!(delivery.next(), Deed::Pause { ceiling: 10 });
/// delivery.told(Event::Paused);
/// // The same number: the server applies each statement once.
/// assert_eq!(delivery.next(), Deed::Send { number: Some(7), named: true });
/// delivery.told(Event::Reply(doc! { "ok": 1, "n": 1, "retriedStmtIds": [0] }));
/// assert_eq!(delivery.next(), Deed::End);
/// assert!(matches!(delivery.end(), Ended::Reply(answer) if answer.resent == 1));
/// ```
#[derive(Debug, Clone)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "the flags are independent of each other"
)]
pub struct Delivery {
    phase: Phase,
    parts: Parts,
    /// Its number; `None` while it is unknown, and if the server takes none.
    number: Option<i64>,
    /// It names its collection by UUID.
    named: bool,
    /// It runs in the caller's session; the caller would repeat a transaction.
    in_session: bool,
    /// A second execution changes nothing more, whatever its number.
    repeatable: bool,
    /// Its statements can be sent in parts.
    divisible: bool,
    /// An earlier attempt may be applied that the server does not recognise as one of this command.
    repeated: bool,
    pauses: Pauses,
    fence_pauses: Pauses,
    /// Some statement may be applied.
    maybe: bool,
    /// An attempt without a reply may still arrive.
    late: bool,
    /// No attempt under this number can have been executed.
    fresh: bool,
    /// How many numbers were old, or used by another command.
    wrong_numbers: u32,
    has_met_a_taken_number: bool,
    outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Does(Work),
    /// Waits before it does that again, for at most this many milliseconds.
    Waits(Work, u64),
    Ended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    /// Asks for a number.
    Ask,
    /// Must be sent, or is in flight.
    Send,
    /// Asks for the number of a fence.
    AskForFence,
    /// The fence with this number must be sent, or is in flight.
    Fence(i64),
}

/// The result of the command so far.
#[derive(Debug, Clone)]
enum Outcome {
    Nothing,
    Fault(Fault),
    /// A reply, and the statements that another command executed under this number.
    Reply(Document, Certainty, Vec<usize>),
    CalledOff,
}

impl Delivery {
    /// Makes the delivery of a command with this number of statements.
    #[must_use]
    pub fn new(statements: usize) -> Self {
        Self {
            phase: Phase::Does(Work::Ask),
            parts: Parts::new(statements),
            number: None,
            named: true,
            in_session: false,
            repeatable: false,
            divisible: false,
            repeated: false,
            pauses: Pauses::OF_A_TRY,
            fence_pauses: Pauses::OF_A_TRY,
            maybe: false,
            late: false,
            fresh: true,
            wrong_numbers: 0,
            has_met_a_taken_number: false,
            outcome: Outcome::Nothing,
        }
    }

    /// Sets that it runs in the caller's session, maybe in a transaction: without a number it is not sent again.
    #[must_use]
    pub fn in_session(mut self) -> Self {
        self.in_session = true;
        self
    }

    /// Sets that a second execution of the command changes nothing more, as with an insert of given `_id`s.
    /// Outside the caller's session it is then sent again even without a number, or under another one.
    /// [`Answer::repeated`] says when a duplicate in the reply can come from an earlier attempt.
    #[must_use]
    pub fn repeatable(mut self) -> Self {
        self.repeatable = true;
        self
    }

    /// Sets that no statement depends on another one, as in an unordered command: if replies keep getting
    /// lost, it continues in [parts](Self::part).
    #[must_use]
    pub fn divisible(mut self) -> Self {
        self.divisible = true;
        self
    }

    /// Sets that it has no number: the server takes none, or numbers cannot be counted.
    #[must_use]
    pub fn without_number(mut self) -> Self {
        self.phase = Phase::Does(Work::Send);
        self
    }

    /// Returns what to do next. Asking changes nothing.
    #[must_use]
    pub fn next(&self) -> Deed {
        match self.phase {
            Phase::Does(Work::Ask | Work::AskForFence) => Deed::Number {
                above: self.number.unwrap_or_default(),
            },
            Phase::Does(Work::Send) => Deed::Send {
                number: self.number,
                named: self.named,
            },
            Phase::Does(Work::Fence(number)) => Deed::Fence { number },
            Phase::Waits(_, ceiling) => Deed::Pause { ceiling },
            Phase::Ended => Deed::End,
        }
    }

    /// The statements of the next attempt, see [`part_of`]; `None` if it is the whole command.
    ///
    /// ```
    /// use bson::doc;
    /// use bucket_core::write::{Delivery, Event, Fault};
    ///
    /// let mut delivery = Delivery::new(5_000).divisible();
    /// delivery.told(Event::Number(7));
    /// for _ in 0..2 {
    ///     assert_eq!(delivery.part(), None);
    ///     delivery.told(Event::Fault(Fault::Lost));
    ///     delivery.told(Event::Paused);
    /// }
    /// // The reply may be larger than the server sends.
    /// assert_eq!(delivery.part(), Some(0..2_500));
    /// delivery.told(Event::Reply(doc! { "ok": 1, "n": 2_500 }));
    /// assert_eq!(delivery.part(), Some(2_500..5_000));
    /// ```
    #[must_use]
    pub fn part(&self) -> Option<Range<usize>> {
        self.parts.is_divided().then(|| self.parts.next())
    }

    /// Takes the result of the deed. An event that does not belong to it changes nothing.
    pub fn told(&mut self, event: Event) {
        match (self.phase, event) {
            (Phase::Ended, _) => {}
            (Phase::Waits(work, _), Event::Paused) => self.phase = Phase::Does(work),
            (
                Phase::Does(Work::AskForFence | Work::Fence(_))
                | Phase::Waits(Work::AskForFence | Work::Fence(_), _),
                event,
            ) => self.told_of_fence(event),
            (_, Event::CalledOff) => self.call_off(),
            (_, Event::Deadline { sent }) => self.give_up(sent),
            (Phase::Does(Work::Ask), Event::Number(number)) => {
                self.number = Some(number);
                self.fresh = true;
                self.phase = Phase::Does(Work::Send);
            }
            (Phase::Does(Work::Ask), Event::NoNumber) => {
                self.number = None;
                self.phase = Phase::Does(Work::Send);
            }
            (Phase::Does(Work::Ask), Event::Fault(fault)) => self.has_no_number(fault),
            (Phase::Does(Work::Send), Event::Reply(reply)) => self.replied(reply),
            (Phase::Does(Work::Send), Event::Fault(fault)) => self.failed(fault),
            _ => {}
        }
    }

    /// Whether part of the command may be applied. Until then, the next attempt may choose another server,
    /// and the command may be called off.
    #[must_use]
    pub fn may_be_applied(&self) -> bool {
        self.maybe
    }

    /// Whether the server had executed another command under a number of this one. Numbers of such sessions
    /// cannot be relied on.
    #[must_use]
    pub fn has_met_a_taken_number(&self) -> bool {
        self.has_met_a_taken_number
    }

    /// How often it was sent again, or is about to be.
    #[must_use]
    pub fn resent(&self) -> u32 {
        self.pauses.tries()
    }

    /// Returns the result.
    #[must_use]
    pub fn end(mut self) -> Ended {
        let mut open = Vec::new();
        if self.repeatable
            && matches!(self.outcome, Outcome::Nothing | Outcome::Fault(_))
            && let Some((reply, others)) = self.parts.so_far()
        {
            open = others;
            // There are parts only after a lost attempt, and no fence stops that one.
            self.outcome = Outcome::Reply(reply, Certainty::Open, Vec::new());
        }
        match self.outcome {
            Outcome::Reply(reply, doubt, taken) => Ended::Reply(Answer {
                reply,
                doubt,
                resent: self.pauses.tries(),
                taken,
                repeated: self.repeated,
                open,
            }),
            Outcome::CalledOff => Ended::CalledOff,
            Outcome::Fault(fault) => Ended::Failed {
                fault: Some(fault),
                unknown: self.maybe,
            },
            Outcome::Nothing => Ended::Failed {
                fault: None,
                unknown: self.maybe,
            },
        }
    }

    fn has_no_number(&mut self, fault: Fault) {
        self.outcome = Outcome::Fault(fault);
        // The driver has not met its server yet.
        if fault.is_passing() {
            self.wait_to(Work::Ask);
        } else {
            self.phase = Phase::Ended;
        }
    }

    fn replied(&mut self, reply: Document) {
        if self.named && refuses_naming(&reply) {
            return self.failed(Fault::NoNaming);
        }
        if self.number.is_none() {
            return self.ends_with(reply, Vec::new());
        }
        if std::mem::take(&mut self.fresh) {
            let taken = replayed(&reply);
            if !taken.is_empty() {
                return self.met_a_taken_number(reply, taken);
            }
        }
        if asks_again(&reply) {
            self.maybe = true;
            // If there is no more time, this is what is known.
            self.outcome = Outcome::Reply(reply, Certainty::Full, Vec::new());
            return self.wait_to(Work::Send);
        }
        self.ends_with(reply, Vec::new());
    }

    /// Takes a reply that ends the delivery. An earlier attempt without a reply may have arrived after this
    /// reply, and have succeeded where this one was refused, unless a fence stops it.
    fn ends_with(&mut self, reply: Document, taken: Vec<usize>) {
        let Some(reply) = self.parts.settle(reply) else {
            self.outcome = Outcome::Nothing;
            self.phase = Phase::Does(Work::Send);
            return;
        };
        let needs_fence = self.late && misses_some(&reply);
        let (doubt, phase) = if needs_fence {
            (Certainty::Open, Phase::Does(Work::AskForFence))
        } else {
            (Certainty::Full, Phase::Ended)
        };
        self.outcome = Outcome::Reply(reply, doubt, taken);
        self.phase = phase;
    }

    /// The server answers a first attempt from its record: another command used this number.
    fn met_a_taken_number(&mut self, reply: Document, taken: Vec<usize>) {
        self.has_met_a_taken_number = true;
        if taken.len() < self.parts.next().len() {
            // The others were executed.
            if !self.repeatable {
                return self.ends_with(reply, taken);
            }
            self.maybe = true;
        }
        self.needs_another_number();
    }

    /// Whether it may be sent under another number, or without one, after an attempt that may be applied.
    fn is_sent_anew(&self) -> bool {
        self.repeatable && !self.in_session
    }

    fn needs_another_number(&mut self) {
        self.repeated |= self.maybe;
        self.wrong_numbers += 1;
        if self.wrong_numbers < MAX_NUMBERS {
            self.phase = Phase::Does(Work::Ask);
        } else {
            self.number = None;
            self.phase = Phase::Does(Work::Send);
        }
    }

    fn failed(&mut self, fault: Fault) {
        self.outcome = Outcome::Fault(fault);
        match fault {
            Fault::NoNaming if self.named => {
                self.named = false;
                return;
            }
            Fault::NoNumbers if self.number.is_some() && (!self.maybe || self.is_sent_anew()) => {
                self.repeated |= self.maybe;
                self.number = None;
                return;
            }
            Fault::TooOld { newer: Some(newer) }
                if self.number.is_some() && (!self.maybe || self.is_sent_anew()) =>
            {
                self.number = Some(newer);
                return self.needs_another_number();
            }
            Fault::BrokenOff { .. } => self.maybe = true,
            Fault::Lost => {
                self.maybe = true;
                self.late = true;
            }
            _ => {}
        }
        self.fresh &= fault == Fault::NotSent;
        let goes_on = match self.number {
            Some(_) => fault.is_passing(),
            None if self.is_sent_anew() => fault.is_passing(),
            // It is sent again only if nothing of it was sent.
            None => fault == Fault::NotSent && !self.in_session,
        };
        self.repeated |= self.number.is_none() && fault.leaves_open();
        if goes_on {
            if fault == Fault::Lost && self.divisible {
                self.parts.lose();
            }
            self.wait_to(Work::Send);
        } else {
            self.phase = Phase::Ended;
        }
    }

    fn told_of_fence(&mut self, event: Event) {
        match (self.phase, event) {
            (Phase::Does(Work::AskForFence), Event::Number(number)) => {
                self.phase = Phase::Does(Work::Fence(number));
            }
            // An old number works too: the server has seen a newer one than the command's.
            (Phase::Does(Work::Fence(_)), Event::Reply(_) | Event::Fault(Fault::TooOld { .. })) => {
                if let Outcome::Reply(_, doubt, _) = &mut self.outcome {
                    *doubt = Certainty::Overtaken;
                }
                self.phase = Phase::Ended;
            }
            (Phase::Does(work @ Work::Fence(_)), Event::Fault(fault)) if fault.is_passing() => {
                self.phase = Phase::Waits(work, self.fence_pauses.next_ceiling());
            }
            // The effect of an attempt that may still arrive stays open.
            _ => self.phase = Phase::Ended,
        }
    }

    fn wait_to(&mut self, work: Work) {
        self.phase = Phase::Waits(work, self.pauses.next_ceiling());
    }

    fn call_off(&mut self) {
        // A command that may have been applied is followed to its outcome.
        if !self.maybe {
            self.outcome = Outcome::CalledOff;
            self.phase = Phase::Ended;
        }
    }

    fn give_up(&mut self, sent: bool) {
        self.phase = match self.phase {
            Phase::Does(_) => {
                self.maybe |= sent;
                // The attempt in flight may change any earlier result.
                self.outcome = Outcome::Nothing;
                Phase::Ended
            }
            // A reply that asks for a retry may follow a lost attempt.
            _ => match std::mem::replace(&mut self.outcome, Outcome::Nothing) {
                Outcome::Reply(reply, _, taken) => {
                    self.ends_with(reply, taken);
                    match self.phase {
                        // There is no time for the other parts.
                        Phase::Does(Work::Send) => Phase::Ended,
                        phase => phase,
                    }
                }
                other => {
                    self.outcome = other;
                    Phase::Ended
                }
            },
        };
    }
}
