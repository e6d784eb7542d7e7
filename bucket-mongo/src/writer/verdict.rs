//! What a try of a command proves.
//!
//! Codes: the server's `error_codes.yml`. Which of them are worth another try: the driver
//! specification "Retryable Writes".

use bson::{Bson, Document};
use bucket_core::write::is_transient;
use mongodb::error::{Error, ErrorKind, TRANSIENT_TRANSACTION_ERROR};

const ILLEGAL_OPERATION: i32 = 20;
const TIME_LIMIT: i32 = 50;
const WRITE_CONCERN_FAILED: i32 = 64;
const TRANSACTION_TOO_OLD: i32 = 225;

/// Network errors between servers, a time limit inside of them, a failed choice of a server.
const UNREACHABLE: [i32; 6] = [6, 7, 89, 133, 262, 9_001];

/// A read of what a majority has: nothing is known to be that yet, or not since the collection was
/// changed.
const NOT_COMMITTED_YET: [i32; 2] = [134, 246];

/// Codes of commands that are refused before anything is executed: a bad value, failure to parse,
/// not authorised, nested too deep, authentication failed, no BSON, no such namespace, a bad option,
/// no such command, an invalid option, an invalid namespace, a view, the versions of the API, a document
/// that cannot be, one that is too large, and fields of the command that come twice, are not known or
/// are missing.
const NOT_STARTED: [i32; 19] = [
    2, 9, 13, 15, 18, 22, 26, 40, 59, 72, 73, 166, 322, 323, 378, 10_334, 40_413, 40_414, 40_415,
];

/// Those of them for which one record is to blame: nested too deep, no BSON, a document that cannot be,
/// one that is too large.
const BLAMES_A_RECORD: [i32; 4] = [15, 22, 378, 10_334];

/// Whether the server refused a whole command because of a record in it.
pub(crate) fn blames_a_record(code: i32) -> bool {
    BLAMES_A_RECORD.contains(&code)
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
pub(super) fn is_out_of_time(error: &Error) -> bool {
    matches!(error.kind.as_ref(), ErrorKind::Command(error) if error.code == TIME_LIMIT)
}

/// Why a try of a command brought no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Nothing was sent.
    NotSent,
    /// The server refused the whole command, and would do so again.
    Refused,
    /// The server broke off: some statements may be applied, no more of them will be.
    BrokenOff {
        /// It only cannot take writes just now.
        transient: bool,
    },
    /// There is no reply: the command may have been applied, or be applied later.
    Lost,
    /// The number of the command is an old one; nothing was executed.
    TooOld,
    /// The server takes no numbered commands; nothing was executed.
    NoNumbers,
}

impl Failure {
    pub(crate) fn of(error: &Error) -> Self {
        match error.kind.as_ref() {
            // The transaction is gone, and everything in it.
            _ if error.contains_label(TRANSIENT_TRANSACTION_ERROR) => Self::Refused,
            // Once a server has refused the credentials it counts as not available.
            ErrorKind::ServerSelection { message, .. }
                if message.contains("AuthenticationFailed") =>
            {
                Self::Refused
            }
            ErrorKind::ServerSelection { .. } | ErrorKind::DnsResolve { .. } => Self::NotSent,
            ErrorKind::Authentication { .. }
            | ErrorKind::InvalidArgument { .. }
            | ErrorKind::Shutdown
            | ErrorKind::SessionsNotSupported => Self::Refused,
            ErrorKind::Command(error) => Self::of_code(error.code),
            // Everything else may have happened after the command was sent. That goes for a
            // cleared connection pool too: the driver calls so what it interrupts half-way.
            _ => Self::Lost,
        }
    }

    /// Whether the server may be back soon: worth another try of what changes nothing.
    pub(crate) fn is_passing(self) -> bool {
        matches!(
            self,
            Self::NotSent | Self::Lost | Self::BrokenOff { transient: true }
        )
    }

    fn of_code(code: i32) -> Self {
        match code {
            TRANSACTION_TOO_OLD => Self::TooOld,
            ILLEGAL_OPERATION => Self::NoNumbers,
            code if NOT_STARTED.contains(&code) => Self::Refused,
            code => Self::BrokenOff {
                transient: is_transient(code)
                    || UNREACHABLE.contains(&code)
                    || NOT_COMMITTED_YET.contains(&code),
            },
        }
    }
}

/// Whether a reply only says that the server cannot take the write just now, or that it is not
/// replicated yet: the same command is to be sent again.
pub(crate) fn asks_again(reply: &Document) -> bool {
    let write_errors = errors(reply).any(|error| is_transient(code(error)));
    let concern = reply.get_document("writeConcernError");
    let concern = concern.is_ok_and(|error| {
        let code = code(error);
        [WRITE_CONCERN_FAILED, TIME_LIMIT].contains(&code)
            || is_transient(code)
            || UNREACHABLE.contains(&code)
    });
    write_errors || concern
}

/// Whether a statement of the command was not applied.
pub(super) fn misses_some(reply: &Document) -> bool {
    errors(reply).next().is_some() || code_of(reply, "n") == 0
}

fn errors(reply: &Document) -> impl Iterator<Item = &Document> {
    let errors = reply.get_array("writeErrors").map(Vec::as_slice);
    let errors = errors.unwrap_or_default().iter();
    errors.filter_map(Bson::as_document)
}

fn code(error: &Document) -> i32 {
    code_of(error, "code")
}

fn code_of(document: &Document, name: &str) -> i32 {
    match document.get(name) {
        Some(Bson::Int32(code)) => *code,
        Some(Bson::Int64(code)) => i32::try_from(*code).unwrap_or(i32::MAX),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use bson::doc;

    use super::{Failure, asks_again, misses_some};

    #[test]
    fn a_statement_that_a_failover_refused_is_sent_again_and_a_lost_race_is_not() {
        let refused =
            |code: i32| doc! { "ok": 1, "n": 1, "writeErrors": [{ "index": 0, "code": code }] };
        assert!(asks_again(&refused(189)));
        assert!(asks_again(&refused(11_602)));
        assert!(!asks_again(&refused(11_000)));
        assert!(!asks_again(&doc! { "ok": 1, "n": 1 }));
        assert!(misses_some(&refused(11_000)));
        assert!(misses_some(&doc! { "ok": 1, "n": 0 }));
        assert!(!misses_some(&doc! { "ok": 1, "n": 2 }));
    }

    #[test]
    fn a_write_that_is_not_replicated_yet_is_asked_for_again() {
        let concern = |code: i32| doc! { "ok": 1, "n": 1, "writeConcernError": { "code": code } };
        assert!(asks_again(&concern(64)));
        assert!(asks_again(&concern(50)));
        assert!(asks_again(&concern(91)));
        // No such nodes: that does not change by itself.
        assert!(!asks_again(&concern(100)));
    }

    #[test]
    fn what_the_server_broke_off_may_be_stored_in_part() {
        let broken_off = Failure::of_code(11_602);
        assert_eq!(broken_off, Failure::BrokenOff { transient: true });
        let internal = Failure::of_code(1);
        assert_eq!(internal, Failure::BrokenOff { transient: false });
        for nothing_ran in [13, 15, 73, 40_415] {
            assert_eq!(Failure::of_code(nothing_ran), Failure::Refused);
        }
        let passing = Failure::of_code(365);
        assert_eq!(passing, Failure::BrokenOff { transient: true });
        let in_the_midst = Failure::of_code(50);
        assert_eq!(in_the_midst, Failure::BrokenOff { transient: false });
        assert_eq!(Failure::of_code(225), Failure::TooOld);
        assert_eq!(Failure::of_code(20), Failure::NoNumbers);
    }
}
