//! The messages between a delivery and its executor.

use bson::Document;

#[cfg(doc)]
use super::Delivery;
use super::Fault;
use crate::write::Certainty;

/// What the executor must do next for a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// Ask the session for its next number, which must be above this one. Then report [`Event::Number`],
    /// [`Event::NoNumber`] or [`Event::Fault`].
    Number {
        /// The number that another command used.
        above: i64,
    },
    /// Send the command, or its next [part](Delivery::part). Then report [`Event::Reply`], [`Event::Fault`],
    /// or [`Event::CalledOff`] if the command is no longer wanted and nothing was sent.
    Send {
        /// Its number, if it has one.
        number: Option<i64>,
        /// It may name its collection by UUID, if that is known.
        named: bool,
    },
    /// Send a command that changes nothing, under this number: from then on the server refuses whatever still
    /// arrives under a lower one. Then report [`Event::Reply`] or [`Event::Fault`].
    Fence {
        /// The number of that command.
        number: i64,
    },
    /// Wait for no longer than this, and not beyond the deadline. Then report [`Event::Paused`], or
    /// [`Event::Deadline`] if the deadline has passed first.
    Pause {
        /// In milliseconds.
        ceiling: u64,
    },
    /// Nothing more: see [`Delivery::end`].
    End,
}

/// The result of a [`Deed`].
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The number of the command.
    Number(i64),
    /// Commands have no numbers: those in a transaction, those of a server that takes none, and those of a
    /// session whose numbers cannot be counted.
    NoNumber,
    /// The server's reply.
    Reply(Document),
    /// There is no reply, or the server refused the whole command.
    Fault(Fault),
    /// The pause is over.
    Paused,
    /// The deadline has passed: the attempt in flight is no longer awaited.
    Deadline {
        /// Part of the attempt in flight may have been sent.
        sent: bool,
    },
    /// The command is no longer wanted.
    CalledOff,
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq)]
pub enum Ended {
    /// It was executed.
    Reply(Answer),
    /// There is no reply.
    Failed {
        /// The fault of the last attempt; `None` if the deadline passed first.
        fault: Option<Fault>,
        /// Part of it may be applied, now or later.
        unknown: bool,
    },
    /// The command was no longer wanted, and nothing was sent.
    CalledOff,
}

/// A reply, and how far it can be relied on.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// The reply.
    pub reply: Document,
    /// What it leaves open.
    pub doubt: Certainty,
    /// How often the command was sent again.
    pub resent: u32,
    /// The statements that were not executed although the reply counts them: another command used the number
    /// of this one.
    pub taken: Vec<usize>,
    /// An earlier attempt may be applied that the server does not recognise as one of this command, so a
    /// duplicate in the reply can come from that attempt. Only for a command that is
    /// [`repeatable`](Delivery::repeatable).
    pub repeated: bool,
    /// The statements of the [parts](Delivery::part) that got no reply. The reply covers the others. Only for
    /// a command that is [`repeatable`](Delivery::repeatable).
    pub open: Vec<usize>,
}

impl Answer {
    /// Makes an answer from a reply that says everything.
    ///
    /// ```
    /// use bson::doc;
    /// use bucket_core::write::{Answer, Certainty};
    ///
    /// assert_eq!(Answer::sure(doc! { "ok": 1, "n": 1 }).doubt, Certainty::Full);
    /// ```
    #[must_use]
    pub fn sure(reply: Document) -> Self {
        Self {
            reply,
            doubt: Certainty::Full,
            resent: 0,
            taken: Vec::new(),
            repeated: false,
            open: Vec::new(),
        }
    }
}
