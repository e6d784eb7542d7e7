//! What the driver's errors mean for an attempt of a command.

use bucket_core::write::{Fault, WriteFailure, is_out_of_time};
use mongodb::error::{Error, ErrorKind, TRANSIENT_TRANSACTION_ERROR};

/// The driver's text when a server has refused the credentials. The driver then counts that server as
/// unavailable, and gives the reason only in its text.
const REFUSED_CREDENTIALS: &str = "AuthenticationFailed";

/// Why an attempt brought no result.
pub(crate) fn fault(error: &Error) -> Fault {
    match error.kind.as_ref() {
        // The transaction was rolled back, with everything in it.
        _ if error.contains_label(TRANSIENT_TRANSACTION_ERROR) => Fault::Refused,
        _ if refuses_credentials(error) => Fault::Refused,
        ErrorKind::ServerSelection { .. } | ErrorKind::DnsResolve { .. } => Fault::NotSent,
        ErrorKind::Authentication { .. }
        | ErrorKind::InvalidArgument { .. }
        | ErrorKind::Shutdown
        // The driver refuses what a transaction cannot do.
        | ErrorKind::Transaction { .. }
        | ErrorKind::SessionsNotSupported => Fault::Refused,
        ErrorKind::Command(error) => Fault::of_error(error.code, &error.message),
        // Everything else may have happened after the command was sent. That includes a cleared connection
        // pool, which is the driver's error for a command that it interrupts half-way.
        _ => Fault::Lost,
    }
}

/// Whether no server is available because one has refused the credentials.
pub(crate) fn refuses_credentials(error: &Error) -> bool {
    matches!(error.kind.as_ref(), ErrorKind::ServerSelection { message, .. }
        if message.contains(REFUSED_CREDENTIALS))
}

/// Whether a connection broke, or could not be made.
pub(super) fn is_of_the_network(error: &Error) -> bool {
    let kind = error.kind.as_ref();
    matches!(
        kind,
        ErrorKind::Io(_) | ErrorKind::ConnectionPoolCleared { .. }
    )
}

/// Whether the server aborted a command because its time limit had passed.
pub(crate) fn has_run_out_of_time(error: &Error) -> bool {
    code(error).is_some_and(is_out_of_time)
}

/// The server's code, if the server refused the whole command.
pub(crate) fn code(error: &Error) -> Option<i32> {
    match error.kind.as_ref() {
        ErrorKind::Command(error) => Some(error.code),
        _ => None,
    }
}

/// The server's error for a whole command that it refused.
pub(super) fn refusal(error: &Error) -> Option<WriteFailure> {
    match error.kind.as_ref() {
        ErrorKind::Command(error) => Some(WriteFailure::new(error.code, error.message.clone())),
        _ => None,
    }
}
