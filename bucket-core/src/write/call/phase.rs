//! Where a call is, and what it has to teach.

use std::vec::IntoIter;

use super::learning::Learning;
use crate::write::{Ground, Look, Round};

/// Where a call is.
#[derive(Debug)]
pub(super) enum Phase {
    /// The handle is consulted, or looks are under way ..
    Consults(Purpose),
    Looks(Look, Purpose),
    AwaitsLook(Look, Purpose),
    Learns(Learning),
    AwaitsReads(Learning),
    Plans,
    Sends(IntoIter<Round>),
    AwaitsReplies(Vec<Round>, IntoIter<Round>),
    /// Whether earlier tries have stored their records after all.
    AwaitsTraces(IntoIter<Round>),
    HasRun,
    Pauses,
    /// Chains that are patient wait for it, too.
    AwaitsPause {
        patient: bool,
    },
    Ends,
    Done,
}

/// What the handle is to learn.
#[derive(Debug, Default)]
pub(super) struct Lessons {
    /// The collection is as the model needs it.
    pub(super) ground: Option<Ground>,
    pub(super) saw_record_ids: bool,
    /// The collection is another one than the call has found, or has changed.
    pub(super) leaves: bool,
    /// Nothing counts any more that was learnt of what it held.
    pub(super) forgets: bool,
}

/// What the handle is consulted for, or a look is for.
#[derive(Debug)]
pub(super) enum Purpose {
    /// The call begins.
    Begin,
    /// These commands are to be sent.
    Send(IntoIter<Round>),
    /// The collection is another one than before.
    Elsewhere,
    /// The call ends.
    End,
}
