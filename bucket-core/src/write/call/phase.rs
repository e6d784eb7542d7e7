//! The phase of a call, and what the handle can learn from it.

use std::vec::IntoIter;

use super::learning::Learning;
use crate::write::{Ground, Look, Round};

/// The phase of a call.
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
    /// Patient chains wait for it, too.
    AwaitsPause {
        patient: bool,
    },
    Ends,
    Done,
}

/// What the handle should learn.
#[derive(Debug, Default)]
pub(super) struct Lessons {
    /// The collection matches the model.
    pub(super) ground: Option<Ground>,
    pub(super) saw_record_ids: bool,
    /// The collection is not the one that the call found, or has changed.
    pub(super) leaves: bool,
    /// Everything learned about its contents is invalid.
    pub(super) forgets: bool,
}

/// Why the handle is consulted, or a look is made.
#[derive(Debug)]
pub(super) enum Purpose {
    /// The call begins.
    Begin,
    /// These commands will be sent.
    Send(IntoIter<Round>),
    /// The collection is no longer the same one.
    Elsewhere,
    /// The call ends.
    End,
}
