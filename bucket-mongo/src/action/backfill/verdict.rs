//! The outcome of the records of a chunk: what the transaction comes to.

use bucket_core::write::{
    blames_a_record,
    codes::{
        ILLEGAL_OPERATION, INVALID_OPTIONS, NAMESPACE_NOT_FOUND, NO_SUCH_TRANSACTION,
        RESULT_TOO_LARGE, TOO_LARGE, TOO_LARGE_FOR_CACHE,
    },
};

use super::tries::is_ended_by_others;
use crate::{Error, ErrorKind, InsertReport, Result};

/// `DocumentValidationFailure`, and a document that is too large after an update.
const OF_A_RECORD: [i32; 4] = [121, 17_420, TOO_LARGE, RESULT_TOO_LARGE];

/// What the records of a transaction have come to.
#[derive(Debug)]
pub(super) enum Verdict {
    /// The transaction can be committed. These records are not in it, each for a reason of its own.
    Stored(Vec<(usize, Error)>),
    /// The server has ended the transaction with this refusal of a statement. It brings many records, so most of them may be in
    /// order.
    Refused(Error),
}

/// Judges by the report of an insert in a transaction.
///
/// # Errors
///
/// What no record is to blame for.
pub(super) fn judge(report: &InsertReport) -> Result<Verdict> {
    let mut rejects = Vec::new();
    let mut refusal = None;
    let mut ended = None;
    for failed in report.failed() {
        let error = &failed.error;
        match error.kind() {
            // An earlier statement, or somebody else, has ended the transaction. Whatever the kind is, nothing of it is stored,
            // and no record is to blame.
            _ if is_ended_by_others(error) => ended = ended.or(Some(error)),
            _ if passes(error) => return Err(error.clone()),
            ErrorKind::Encode(_) | ErrorKind::Conflict { .. } => {
                rejects.push((failed.index, error.clone()));
            }
            ErrorKind::DuplicateKey { .. }
            | ErrorKind::OtherCapacity { .. }
            | ErrorKind::Server { .. } => refusal = refusal.or(Some(error)),
            _ => return Err(error.clone()),
        }
    }
    match (refusal, ended.or(report.stopped_by())) {
        (Some(refusal), _) => Ok(Verdict::Refused(refusal.clone())),
        (None, Some(stopped)) => Err(stopped.clone()),
        (None, None) => Ok(Verdict::Stored(rejects)),
    }
}

/// Whether the same transaction may go through later.
fn passes(error: &Error) -> bool {
    error.contains_label("TransientTransactionError")
        || error.is_retryable()
        || error.is_outcome_unknown()
}

/// Whether a refusal is about the record, whatever else the server refuses.
pub(super) fn is_of_record(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::DuplicateKey { .. } => true,
        ErrorKind::Server { code, .. } => OF_A_RECORD.contains(code) || blames_a_record(*code),
        _ => false,
    }
}

/// What the server does with other records than the one that it refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Others {
    /// It takes one.
    Taken,
    /// It takes none.
    Refused,
    /// There is none that it could be asked about.
    Unasked,
}

/// Whether a refusal is about the collection or the server, so that any other record would be refused, too.
pub(super) fn is_of_all(error: &Error) -> bool {
    /// `AtlasError`, as for a quota that is used up, and `OutOfDiskSpace`
    const NO_ROOM: [i32; 2] = [8_000, 14_031];
    match error.kind() {
        ErrorKind::OtherCapacity { .. } => true,
        ErrorKind::Server { code, .. } => {
            matches!(
                *code,
                ILLEGAL_OPERATION | INVALID_OPTIONS | NAMESPACE_NOT_FOUND
            ) || NO_ROOM.contains(code)
        }
        _ => false,
    }
}

/// Whether fewer documents in a transaction may go through.
pub(super) fn is_too_slow(error: &Error) -> bool {
    /// `MaxTimeMSExpired`, `WriteConflict`, `NoSuchTransaction`, `TransactionTooLarge`,
    /// `TransactionExceededLifetimeLimitSeconds`, `TransactionTooLargeForCache`
    const CODES: [i32; 6] = [50, 112, NO_SUCH_TRANSACTION, 257, 290, TOO_LARGE_FOR_CACHE];
    match error.kind() {
        ErrorKind::Contention { .. } | ErrorKind::TimedOut { .. } => true,
        ErrorKind::Server { code, .. } => CODES.contains(code),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use bucket_core::write::codes::{INTERRUPTED, NO_SUCH_TRANSACTION};

    use super::{Verdict, judge};
    use crate::{Error, ErrorKind, InsertReport, error::Context};

    fn refused(code: i32) -> Error {
        let context = Context {
            operation: "backfill_from",
            collection: "events",
            spec: None,
            key: None,
        };
        let message = "no".to_owned();
        Error::with_code(ErrorKind::Server { code, message }, &context, code)
    }

    fn report(code: i32) -> InsertReport {
        let mut report = InsertReport::default();
        let index = report.next_index();
        report.fail(index, refused(code));
        report
    }

    #[test]
    fn an_attempt_that_others_have_ended_is_no_refusal_of_a_record() {
        for code in [NO_SUCH_TRANSACTION, INTERRUPTED] {
            let error = judge(&report(code)).unwrap_err();
            assert_eq!(error.code(), Some(code));
        }
        let verdict = judge(&report(121)).unwrap();
        assert!(matches!(verdict, Verdict::Refused(_)), "{verdict:?}");
    }
}
