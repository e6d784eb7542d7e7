//! The messages between a call and its executor.

use bson::{RawDocumentBuf, Uuid};

#[cfg(doc)]
use super::Call;
#[cfg(doc)]
use crate::write::Cache;
use crate::{
    read::FindPlan,
    write::{Answer, Listing, Look, WriteFailure},
};

/// The conditions of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[allow(
    clippy::struct_excessive_bools,
    reason = "the terms are independent of each other"
)]
pub struct Terms {
    /// It runs in the caller's session, which may be in a transaction. The first refusal ends a transaction,
    /// so nothing is tried without a look, and commands are sent one after the other.
    pub in_session: bool,
    /// That session is in a transaction, which sees the buckets as they were when it began, and which a refusal ends: all
    /// records of the refused statement fail, and nothing more is sent.
    pub in_transaction: bool,
    /// Acknowledged records stay, whatever happens to the primary.
    pub for_good: bool,
    /// There is no time to wait for a writer that has reserved a bucket.
    pub in_a_hurry: bool,
    /// It looks at the collection first, although the handle knows it: others may have set it up for another model since.
    pub looks_anew: bool,
}

impl Default for Terms {
    /// Outside a session, durable, with time to wait.
    fn default() -> Self {
        Self {
            in_session: false,
            in_transaction: false,
            for_good: true,
            in_a_hurry: false,
            looks_anew: false,
        }
    }
}

/// What the executor must do next for a call.
#[derive(Debug)]
pub enum Next {
    /// Let the call use what the handle has learned: [`Call::consult`].
    Consult,
    /// Look at the collection, outside of a session, with [`Look::command`]. Then report
    /// [`CallEvent::Listed`] or [`CallEvent::Failed`].
    Look(Look),
    /// Read, at the same time if it may be. Then tell [`CallEvent::Found`], [`CallEvent::Refused`] or
    /// [`CallEvent::Failed`].
    Read(Vec<FindPlan>),
    /// Send these commands, each as a [`Delivery`](crate::write::Delivery): in parallel if possible, in a
    /// session one after the other up to the first failure. Then report [`CallEvent::Ended`].
    Send(Vec<Dispatch>),
    /// Wait for a time between these bounds. Then report [`CallEvent::Paused`].
    Pause {
        /// In milliseconds.
        floor: u64,
        /// In milliseconds.
        ceiling: u64,
    },
    /// Nothing, until the event of the current step is reported.
    Wait,
    /// Every record is stored or has a reason why it is not: [`Call::end`].
    Done,
}

/// A command to send.
#[derive(Debug)]
#[non_exhaustive]
pub struct Dispatch {
    /// The command. The executor adds the session's fields, the write concern and the time limits.
    pub body: RawDocumentBuf,
    /// The number of its statements.
    pub statements: usize,
    /// The UUID of the collection that it is for, which the command names if [`Cache::names_collections`].
    pub collection: Option<Uuid>,
}

/// The result of a step.
#[derive(Debug)]
pub enum CallEvent<E> {
    /// The result of the look.
    Listed(Listing),
    /// The documents of each plan.
    Found(Vec<Vec<RawDocumentBuf>>),
    /// A look or a read failed for good.
    Failed(E),
    /// The server has refused a read.
    Refused {
        /// The executor's error.
        error: E,
        /// What the server says.
        failure: WriteFailure,
    },
    /// What the commands came to, in their order: the rest were not sent.
    Ended {
        /// The result of each command.
        commands: Vec<Delivered<E>>,
        /// The deadline has passed.
        late: bool,
    },
    /// The pause is over.
    Paused,
}

/// The result of a command of a call.
#[derive(Debug)]
pub enum Delivered<E> {
    /// The server's reply.
    Answer(Answer),
    /// There is no reply.
    Failed {
        /// The executor's error.
        error: E,
        /// Part of the command may be applied.
        unknown: bool,
        /// The server's error, if it refused the whole command.
        refusal: Option<WriteFailure>,
    },
    /// It was called off, and nothing of it was sent.
    CalledOff,
}
