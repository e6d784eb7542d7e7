//! What a delivery and its executor say to each other.

use bson::Document;

#[cfg(doc)]
use super::Delivery;
use super::Fault;
use crate::write::Doubt;

/// What is to be done for a command next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// Ask the session for its next number, which is to be above this one. Then tell
    /// [`Event::Number`], [`Event::NoNumber`] or [`Event::Fault`].
    Number {
        /// The number that another command has.
        above: i64,
    },
    /// Send the command, or its next [part](Delivery::part). Then tell [`Event::Reply`], [`Event::Fault`], or [`Event::CalledOff`] if nobody
    /// wants it any more and nothing has left.
    Send {
        /// Its number, if it has one.
        number: Option<i64>,
        /// It may say by its UUID which collection it is for, where that is known.
        named: bool,
    },
    /// Send a command that changes nothing, under this number: from then on the server refuses whatever
    /// still comes under a lower one. Then tell [`Event::Reply`] or [`Event::Fault`].
    Fence {
        /// The number of that command.
        number: i64,
    },
    /// Wait for no longer than this, and not beyond the deadline. Then tell [`Event::Paused`], or
    /// [`Event::Deadline`] if that has passed before.
    Pause {
        /// In milliseconds.
        ceiling: u64,
    },
    /// Nothing more: see [`Delivery::end`].
    End,
}

/// What came of a [`Deed`].
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The number of the command.
    Number(i64),
    /// Commands have no numbers: those of a transaction, those of a server without, or those of a session
    /// whose numbers cannot be counted.
    NoNumber,
    /// The server's reply.
    Reply(Document),
    /// There is no reply, or the server refused the whole command.
    Fault(Fault),
    /// The pause is over.
    Paused,
    /// The deadline has passed: what is under way is not awaited any more.
    Deadline {
        /// Something of the try under way may have left.
        sent: bool,
    },
    /// Nobody wants it any more.
    CalledOff,
}

/// What a command came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Ended {
    /// It was executed.
    Reply(Answer),
    /// There is no reply.
    Failed {
        /// What the last try met; none where the deadline passed first.
        fault: Option<Fault>,
        /// Something of it may be applied, now or later.
        unknown: bool,
    },
    /// Nobody wanted it any more, and nothing was sent.
    CalledOff,
}

/// A reply, and how far it can be relied on.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// The reply.
    pub reply: Document,
    /// What it leaves open.
    pub doubt: Doubt,
    /// How often the command was sent again.
    pub resent: u32,
    /// The statements that were not executed, although the reply counts them: another command had the
    /// number of this one.
    pub taken: Vec<usize>,
    /// An earlier try may be applied that the server does not know as a try of this command, so a duplicate
    /// in the reply can come from that try. Only for a command that is
    /// [`repeatable`](Delivery::repeatable).
    pub repeated: bool,
    /// The statements of the [parts](Delivery::part) that got no reply. The reply is that to the others. Only
    /// for a command that is [`repeatable`](Delivery::repeatable).
    pub open: Vec<usize>,
}

impl Answer {
    /// A reply that says everything.
    ///
    /// ```
    /// use bson::doc;
    /// use bucket_core::write::{Answer, Doubt};
    ///
    /// assert_eq!(Answer::sure(doc! { "ok": 1, "n": 1 }).doubt, Doubt::None);
    /// ```
    #[must_use]
    pub fn sure(reply: Document) -> Self {
        Self {
            reply,
            doubt: Doubt::None,
            resent: 0,
            taken: Vec::new(),
            repeated: false,
            open: Vec::new(),
        }
    }
}
