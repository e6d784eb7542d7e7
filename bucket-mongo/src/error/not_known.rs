//! The reasons why it is unknown whether something was stored, and what each means for records that were then
//! not sent.

use std::fmt;

use bucket_core::write::{WriteFailure, codes::UNMEETABLE_CONCERN};
use tokio::task::JoinError;

use super::{Context, Error, ErrorKind};

/// `NoSuchTransaction`.
const NO_SUCH_TRANSACTION: i32 = 251;

/// Why it is unknown whether something was stored, where no driver error says so.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NotKnown<'a> {
    /// The write is still in progress at the deadline.
    NoReply,
    /// A reply refused the record, but an earlier attempt may have arrived after that and stored it.
    LostTry,
    /// The server answered from its record of another command.
    TakenNumber,
    /// The record is stored, but may be rolled back.
    Concern(&'a WriteFailure),
    /// The change is made, but may be rolled back; the command can be sent again.
    Unconfirmed,
    /// The task that sent the write stopped.
    Stopped(&'a JoinError),
    /// The task that wrote for a group of calls stopped.
    GroupStopped,
    /// The call shares statements with others and reached its deadline first.
    GroupNotDone,
    /// The caller has aborted the ingestor.
    Aborted,
    /// Code of the caller panicked in the ingestor.
    Panicked,
    /// The runtime of the ingestor was shut down.
    IngestorStopped,
}

impl fmt::Display for NotKnown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoReply => "the server did not reply before the deadline",
            Self::LostTry => "an attempt that lost its connection may have been applied late",
            Self::TakenNumber => "another command used the same transaction number",
            Self::Concern(WriteFailure { code, message, .. }) => {
                return write!(f, "the write concern was not met ({code}): {message}");
            }
            Self::Unconfirmed => "no majority confirmed the changes",
            Self::Stopped(stopped) => return write!(f, "the runtime stopped: {stopped}"),
            Self::GroupStopped => "the runtime that wrote it was shut down",
            Self::GroupNotDone => "its group of calls did not finish before the deadline",
            Self::Aborted => "the ingestor was aborted",
            Self::Panicked => {
                "the record's `Deserialize`, or the function that decides which record is kept, panicked"
            }
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
    /// The error of a record that may or may not be stored.
    pub(crate) fn not_known(why: NotKnown<'_>, context: &Context) -> Self {
        match why {
            NotKnown::Concern(failure) => Self::with_code(why.into(), context, failure.code),
            _ => Self::new(why.into(), context),
        }
    }

    /// The error of a write that may have been applied, with the driver's message.
    pub(crate) fn unknown(driver: mongodb::error::Error, context: &Context) -> Self {
        let message = driver.kind.to_string();
        Self::with_driver(ErrorKind::OutcomeUnknown { message }, context, Some(driver))
    }

    /// The same for a record of another key.
    pub(crate) fn of_key(mut self, key: String) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The error of records that were not sent, because this refusal of another one ended the transaction.
    pub(crate) fn not_sent_in_transaction(&self) -> Self {
        let context = Context {
            operation: self.operation,
            collection: self.inner.collection,
            spec: None,
            key: None,
        };
        Self::transaction_ended(&context)
    }

    /// The same, in this context.
    pub(crate) fn transaction_ended(context: &Context) -> Self {
        let message = "not sent, because the transaction ended with an earlier record of the call";
        let kind = ErrorKind::Server {
            code: NO_SUCH_TRANSACTION,
            message: message.to_owned(),
        };
        Self::new(kind, context)
    }

    /// The error of records that were not sent because of this one. They are not stored, even if the outcome
    /// of the others is unknown.
    pub(crate) fn not_sent(&self) -> Self {
        let ErrorKind::OutcomeUnknown { message } = &self.inner.kind else {
            return self.clone();
        };
        let context = Context {
            operation: self.operation,
            collection: self.inner.collection,
            spec: None,
            key: self.key.as_deref().map(str::to_owned),
        };
        let message = format!("not sent, because an earlier command failed: {message}");
        let kind = match self.code() {
            // The same write concern fails again.
            Some(code) if UNMEETABLE_CONCERN.contains(&code) => ErrorKind::Server { code, message },
            _ => ErrorKind::Unreachable { message },
        };
        Self::with_driver(kind, &context, self.inner.driver.clone())
    }
}

#[cfg(test)]
mod tests {
    use bucket_core::write::WriteFailure;

    use super::{Context, Error, NotKnown};

    #[test]
    fn a_record_that_was_not_sent_is_never_reported_as_maybe_stored() {
        let context = Context {
            operation: "insert_many",
            collection: "samples",
            spec: None,
            key: None,
        };
        let unknown = Error::not_known(NotKnown::NoReply, &context);
        let not_sent = unknown.not_sent();
        assert!(!not_sent.is_outcome_unknown() && not_sent.is_retryable());
        let text = not_sent.to_string();
        assert!(!text.contains("may or may not"), "{text}");
        assert!(
            text.ends_with("earlier command failed: the server did not reply before the deadline"),
            "{text}"
        );
        // It stays the same for records that were not sent because of it.
        assert_eq!(not_sent.not_sent().to_string(), text);

        let lacking = WriteFailure::new(100, "Not enough data-bearing nodes".to_owned());
        let not_sent = Error::not_known(NotKnown::Concern(&lacking), &context).not_sent();
        assert!(!not_sent.is_outcome_unknown() && !not_sent.is_retryable());
        assert_eq!(not_sent.code(), Some(100));
    }
}
