//! Maps the driver's errors and the server's codes to kinds.

use bucket_core::{
    BucketSpec, Damage, DamagedBucket,
    index::Drift,
    write::{
        Action, WriteFailure,
        codes::{
            ADDS_NO_NUMBER, AUTHENTICATION_FAILED, BAD_VALUE, CONVERSION_FAILURE, DUPLICATE_KEY,
            TYPE_MISMATCH, UNAUTHORIZED,
        },
        names_no_index, other_kind,
    },
};
use mongodb::error::{
    ErrorKind as DriverKind, WriteConcernError, WriteFailure as DriverWriteFailure,
};

use super::{Context, Error, ErrorKind, ReadFault};
use crate::writer::faults;

/// The prefix of the names of indexes on open buckets.
const OPEN_INDEX: &str = "bucket_open_";

impl Error {
    /// An error of a read that named the index on pages as its hint. Nothing was stored.
    pub(crate) fn read(fault: impl Into<ReadFault>, context: &Context) -> Self {
        let index = context.spec.map(BucketSpec::pages_index_name);
        Self::read_by(&index.unwrap_or_default(), fault, context)
    }

    /// An error of a read that named this index as its hint.
    pub(crate) fn read_by(index: &str, fault: impl Into<ReadFault>, context: &Context) -> Self {
        let driver = match fault.into() {
            ReadFault::Driver(driver) => driver,
            ReadFault::Late => {
                let message = "no reply came before the deadline".to_owned();
                return Self::new(ErrorKind::TimedOut { message }, context);
            }
            // The server's code and text say only that a hint is wrong.
            ReadFault::Drift(drift) => {
                return Self::new(ErrorKind::Drift(drift), context);
            }
            ReadFault::Overtaken(message) => {
                let message = message.to_owned();
                return Self::new(ErrorKind::Overtaken { message }, context);
            }
            #[cfg(feature = "object-store")]
            ReadFault::Files(kind) => return Self::new(*kind, context),
            ReadFault::Stopped(driver) => {
                let message = text(&driver);
                return Self::with_driver(ErrorKind::TimedOut { message }, context, Some(driver));
            }
        };
        let kind = match driver.kind.as_ref() {
            DriverKind::Command(error) if names_no_index(&error.message) => {
                ErrorKind::MissingIndex {
                    name: index.to_owned(),
                }
            }
            _ => reading(&driver),
        };
        Self::with_driver(kind, context, Some(driver))
    }

    /// A document that the server refused.
    pub(crate) fn refused_document(failure: &WriteFailure, context: &Context) -> Self {
        let WriteFailure { code, message, .. } = failure.clone();
        let kind = match code {
            DUPLICATE_KEY => ErrorKind::DuplicateKey {
                index: failure.index().unwrap_or_default().to_owned(),
                message,
            },
            _ => command(code, message),
        };
        Self::with_code(kind, context, code)
    }

    /// A record that the server refused.
    pub(crate) fn refused(action: &Action, failure: &WriteFailure, context: &Context) -> Self {
        let WriteFailure { code, message, .. } = failure.clone();
        let index = failure.index().unwrap_or_default().to_owned();
        let kind = match code {
            DUPLICATE_KEY if index.starts_with(OPEN_INDEX) => ErrorKind::OtherCapacity { index },
            DUPLICATE_KEY => ErrorKind::DuplicateKey { index, message },
            _ if failure.misses_an_index() => {
                return Self::new(missing_index(action, context), context);
            }
            BAD_VALUE | TYPE_MISMATCH | CONVERSION_FAILURE | ADDS_NO_NUMBER => {
                match damaged_id(action) {
                    Some(id) => {
                        ErrorKind::Damaged(DamagedBucket::new(id, Damage::__refused(message)))
                    }
                    None => ErrorKind::Server { code, message },
                }
            }
            _ => command(code, message),
        };
        Self::with_code(kind, context, code)
    }
}

/// The `_id` of the document that cannot be appended to.
fn damaged_id(action: &Action) -> Option<String> {
    match action {
        Action::Open { .. } | Action::Reserve { .. } | Action::Place { .. } => None,
        action => Some(format!("{:?}", action.id())),
    }
}

/// The index that a statement names as its hint does not exist.
fn missing_index(action: &Action, context: &Context) -> ErrorKind {
    ErrorKind::MissingIndex {
        // Statements write only buckets.
        name: context
            .spec
            .map_or_else(String::new, |spec| action.index(spec)),
    }
}

/// The driver's message without the labels and the raw reply that the driver appends.
fn text(driver: &mongodb::error::Error) -> String {
    driver.kind.to_string()
}

fn reading(driver: &mongodb::error::Error) -> ErrorKind {
    let message = text(driver);
    if let Some((code, message)) = refusal(driver.kind.as_ref()) {
        return command(code, message);
    }
    match driver.kind.as_ref() {
        DriverKind::Authentication { .. } => ErrorKind::Unauthorized { message },
        // Once a server has refused the credentials, the driver reports it as unavailable. Only the text says
        // why.
        DriverKind::ServerSelection { .. } if faults::refuses_credentials(driver) => {
            ErrorKind::Unauthorized { message }
        }
        DriverKind::ServerSelection { .. }
        | DriverKind::ConnectionPoolCleared { .. }
        | DriverKind::DnsResolve { .. }
        | DriverKind::Io(_) => ErrorKind::Unreachable { message },
        DriverKind::InvalidArgument { .. } => ErrorKind::InvalidArgument { message },
        _ => ErrorKind::Driver { message },
    }
}

/// The code and the text of the server's refusal. The driver's own text of a refused write is that of its types.
fn refusal(kind: &DriverKind) -> Option<(i32, String)> {
    let of_concern = |error: &WriteConcernError| (error.code, error.message.clone());
    match kind {
        DriverKind::Command(error) => Some((error.code, error.message.clone())),
        DriverKind::Write(DriverWriteFailure::WriteError(error)) => {
            Some((error.code, error.message.clone()))
        }
        DriverKind::Write(DriverWriteFailure::WriteConcernError(error)) => Some(of_concern(error)),
        DriverKind::InsertMany(failed) => {
            let first = failed.write_errors.iter().flatten().next();
            let first = first.map(|error| (error.code, error.message.clone()));
            first.or_else(|| failed.write_concern_error.as_ref().map(of_concern))
        }
        _ => None,
    }
}

fn command(code: i32, message: String) -> ErrorKind {
    match code {
        UNAUTHORIZED | AUTHENTICATION_FAILED => ErrorKind::Unauthorized { message },
        _ => match other_kind(code, &message) {
            Some(kind) => ErrorKind::Drift(Box::new(Drift::__kind(kind))),
            None => ErrorKind::Server { code, message },
        },
    }
}
