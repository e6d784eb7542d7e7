//! The server's code, from the kind of an error and the driver's error.

use bucket_core::write::codes::{AUTHENTICATION_FAILED, DUPLICATE_KEY};
use mongodb::error::{ErrorKind as DriverKind, WriteFailure as DriverFailure};

use super::ErrorKind;
use crate::writer::faults;

/// The server's code, where the kind or the driver's error holds one.
pub(super) fn code_of(kind: &ErrorKind, driver: Option<&mongodb::error::Error>) -> Option<i32> {
    match kind {
        // The code says that a hint is wrong.
        ErrorKind::MissingIndex { .. } => None,
        ErrorKind::Server { code, .. } => Some(*code),
        ErrorKind::DuplicateKey { .. } | ErrorKind::OtherCapacity { .. } => Some(DUPLICATE_KEY),
        _ => driver.and_then(code_of_driver),
    }
}

fn code_of_driver(driver: &mongodb::error::Error) -> Option<i32> {
    match driver.kind.as_ref() {
        DriverKind::Command(error) => Some(error.code),
        DriverKind::Write(DriverFailure::WriteError(error)) => Some(error.code),
        DriverKind::Write(DriverFailure::WriteConcernError(error)) => Some(error.code),
        // Only the text says why no server is available.
        _ if faults::refuses_credentials(driver) => Some(AUTHENTICATION_FAILED),
        _ => None,
    }
}
