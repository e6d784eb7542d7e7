//! What the driver's errors mean for a try of a command.

use bucket_core::write::{Fault, WriteFailure, is_out_of_time};
use mongodb::error::{Error, ErrorKind, TRANSIENT_TRANSACTION_ERROR};

/// How the driver says that a server has refused the credentials. It counts that server as not available
/// from then on, and tells why in its text only.
const REFUSED_CREDENTIALS: &str = "AuthenticationFailed";

/// Why a try brought no result.
pub(crate) fn fault(error: &Error) -> Fault {
    match error.kind.as_ref() {
        // The transaction is gone, and everything in it.
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
        // Everything else may have happened after the command was sent. That goes for a
        // cleared connection pool too: the driver calls so what it interrupts half-way.
        _ => Fault::Lost,
    }
}

/// Whether no server is available because one has refused the credentials.
pub(crate) fn refuses_credentials(error: &Error) -> bool {
    matches!(error.kind.as_ref(), ErrorKind::ServerSelection { message, .. }
        if message.contains(REFUSED_CREDENTIALS))
}

/// Whether a connection broke, or none could be had.
pub(super) fn is_of_the_network(error: &Error) -> bool {
    let kind = error.kind.as_ref();
    matches!(
        kind,
        ErrorKind::Io(_) | ErrorKind::ConnectionPoolCleared { .. }
    )
}

/// Whether the server broke off a command because its time was over.
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

/// What the server says of a whole command that it refused.
pub(super) fn refusal(error: &Error) -> Option<WriteFailure> {
    match error.kind.as_ref() {
        ErrorKind::Command(error) => Some(WriteFailure::new(error.code, error.message.clone())),
        _ => None,
    }
}
