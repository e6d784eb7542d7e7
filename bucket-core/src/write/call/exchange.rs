//! What a call and its executor say to each other.

use bson::{Binary, RawDocumentBuf};

#[cfg(doc)]
use super::Call;
#[cfg(doc)]
use crate::write::Learnt;
use crate::{
    read::FindPlan,
    write::{Answer, Listing, Look, WriteFailure},
};

/// What a call is made under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Terms {
    /// It runs in the caller's session, who may be in a transaction: the first refusal ends that, so
    /// nothing is tried on trust, and commands go one after the other.
    pub in_session: bool,
    /// What is acknowledged stays, whatever becomes of the primary.
    pub for_good: bool,
    /// There is no time to wait for who has reserved a bucket.
    pub in_a_hurry: bool,
}

impl Default for Terms {
    /// Outside of a session, for good, with time to wait.
    fn default() -> Self {
        Self {
            in_session: false,
            for_good: true,
            in_a_hurry: false,
        }
    }
}

/// What is to be done for a call next.
#[derive(Debug)]
pub enum Next {
    /// Let it consult what the handle has learnt: [`Call::consult`].
    Consult,
    /// Look at the collection, outside of a session, by [`Look::command`]. Then tell
    /// [`CallEvent::Listed`] or [`CallEvent::Failed`].
    Look(Look),
    /// Read, at the same time if it may be. Then tell [`CallEvent::Found`], [`CallEvent::Refused`] or
    /// [`CallEvent::Failed`].
    Read(Vec<FindPlan>),
    /// Send these commands, at the same time if it may be, each as a [`Delivery`](crate::write::Delivery): in a
    /// session one after the other up to the first failure. Then tell [`CallEvent::Ended`].
    Send(Vec<Dispatch>),
    /// Wait for no shorter and no longer than this. Then tell [`CallEvent::Paused`].
    Pause {
        /// In milliseconds.
        floor: u64,
        /// In milliseconds.
        ceiling: u64,
    },
    /// Nothing, until what is under way is told.
    Wait,
    /// Every record is stored or has a reason why it is not: [`Call::end`].
    Done,
}

/// A command to be sent.
#[derive(Debug)]
#[non_exhaustive]
pub struct Dispatch {
    /// The command, to which the session's fields, the write concern and the limits of time are to be added.
    pub body: RawDocumentBuf,
    /// The number of its statements.
    pub statements: usize,
    /// The UUID of the collection that it is for, to be named where [`Learnt::names_collections`].
    pub collection: Option<Binary>,
}

/// What came of what was to be done.
#[derive(Debug)]
pub enum CallEvent<E> {
    /// What the look has found.
    Listed(Listing),
    /// The documents of each plan.
    Found(Vec<Vec<RawDocumentBuf>>),
    /// A look or a read failed, and is not worth another try.
    Failed(E),
    /// The server has refused a read.
    Refused {
        /// The executor's error.
        error: E,
        /// What the server says.
        failure: WriteFailure,
    },
    /// What the commands came to, in their order: those behind the last one were not sent.
    Ended {
        /// What each came to.
        commands: Vec<Delivered<E>>,
        /// The deadline has passed.
        late: bool,
    },
    /// The pause is over.
    Paused,
}

/// What a command of a call came to.
#[derive(Debug)]
pub enum Delivered<E> {
    /// The server's reply.
    Answer(Answer),
    /// There is none.
    Failed {
        /// The executor's error.
        error: E,
        /// Something of it may be applied.
        unknown: bool,
        /// What the server says, if it refused the whole command.
        refusal: Option<WriteFailure>,
    },
    /// It was called off, and nothing of it was sent.
    CalledOff,
}
