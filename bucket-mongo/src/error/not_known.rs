//! Why it is not known whether something was stored: all reasons that there are.

use std::fmt;

use bucket_core::write::WriteFailure;
use tokio::task::JoinError;

use super::{Context, Error, ErrorKind};

/// Why it is not known whether something was stored, where no error of the driver says it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NotKnown<'a> {
    /// It is still under way at the deadline.
    NoReply,
    /// What a reply refused may be stored by an earlier try that came later.
    LostTry,
    /// The server answered from its record of another command.
    TakenNumber,
    /// It is stored, and may be rolled back.
    Concern(&'a WriteFailure),
    /// It is made, and may be rolled back; the command could be sent again.
    Unconfirmed,
    /// The task that sent it is gone.
    Stopped(&'a JoinError),
    /// The task that wrote it for several calls is gone.
    GroupStopped,
    /// The deadline of a call that shares statements with others.
    GroupNotDone,
    /// The caller has aborted the ingestor.
    Aborted,
    /// The runtime of the ingestor is gone.
    IngestorStopped,
}

impl fmt::Display for NotKnown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoReply => "there was no reply before the deadline",
            Self::LostTry => "a try whose connection was lost may have been applied late",
            Self::TakenNumber => "another command had the number of the one that brought it",
            Self::Concern(WriteFailure { code, message, .. }) => {
                return write!(f, "the write concern was not met ({code}): {message}");
            }
            Self::Unconfirmed => "no majority has confirmed the changes",
            Self::Stopped(stopped) => return write!(f, "the runtime stopped: {stopped}"),
            Self::GroupStopped => "the runtime that was writing it was shut down",
            Self::GroupNotDone => {
                "the group that it shares statements with is not done by the deadline"
            }
            Self::Aborted => "the ingestor was aborted",
            Self::IngestorStopped => "the runtime of the ingestor was shut down",
        })
    }
}

impl From<NotKnown<'_>> for ErrorKind {
    fn from(why: NotKnown<'_>) -> Self {
        Self::OutcomeUnknown {
            message: why.to_string(),
        }
    }
}

impl Error {
    /// An error of something that may be stored or not.
    pub(crate) fn not_known(why: NotKnown<'_>, context: &Context) -> Self {
        Self::new(why.into(), context)
    }

    /// An error of a write that may have been applied, as the driver tells it.
    pub(crate) fn unknown(driver: mongodb::error::Error, context: &Context) -> Self {
        let message = driver.kind.to_string();
        Self::with_driver(ErrorKind::OutcomeUnknown { message }, context, Some(driver))
    }
}
