//! Why an attempt of a command brought no usable reply.

use bson::{Bson, Document};

use crate::write::codes;

/// The field of a command that names its collection by UUID.
pub const COLLECTION_UUID: &str = "collectionUUID";

/// Why an attempt of a command brought no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing was sent.
    NotSent,
    /// The server refused the whole command, and would do so again.
    Refused,
    /// The server aborted the command: some statements may be applied, but no more will be.
    BrokenOff {
        /// The server only cannot take writes at the moment.
        transient: bool,
    },
    /// There is no reply: the command may have been applied, or be applied later.
    Lost,
    /// The number of the command is an old one; nothing was executed.
    TooOld {
        /// The number that the server has seen, if it says so.
        newer: Option<i64>,
    },
    /// The server takes no numbered commands; nothing was executed.
    NoNumbers,
    /// The server does not know that a command can name its collection by UUID; nothing was executed.
    NoNaming,
}

impl Fault {
    /// What an error of the server means for a whole command.
    ///
    /// ```
    /// use bucket_core::write::Fault;
    ///
    /// assert_eq!(Fault::of_error(13, "not authorized"), Fault::Refused);
    /// assert_eq!(Fault::of_error(11_602, ""), Fault::BrokenOff { transient: true });
    /// ```
    #[must_use]
    pub fn of_error(code: i32, message: &str) -> Self {
        match code {
            codes::TRANSACTION_TOO_OLD => Self::TooOld {
                newer: newer_number(message),
            },
            codes::ILLEGAL_OPERATION => Self::NoNumbers,
            code if takes_no_naming(code) && message.contains(COLLECTION_UUID) => Self::NoNaming,
            code if codes::is_not_started(code) => Self::Refused,
            code => Self::BrokenOff {
                transient: codes::is_transient(code)
                    || codes::is_unreachable(code)
                    || codes::is_not_committed_yet(code),
            },
        }
    }

    /// Whether the server may be back soon, so that reads and other harmless commands are worth a retry.
    #[must_use]
    pub fn is_passing(self) -> bool {
        matches!(
            self,
            Self::NotSent | Self::Lost | Self::BrokenOff { transient: true }
        )
    }

    /// Whether part of the command may be applied, now or later.
    #[must_use]
    pub fn leaves_open(self) -> bool {
        matches!(self, Self::Lost | Self::BrokenOff { .. })
    }
}

/// Whether a server with the feature compatibility version of an older release has refused each statement because the
/// command names its collection by UUID; nothing was executed.
#[must_use]
pub fn refuses_naming(reply: &Document) -> bool {
    let refuses = |error: &Bson| {
        error.as_document().is_some_and(|error| {
            let message = error.get_str("errmsg").unwrap_or_default();
            error.get_i32("code").is_ok_and(takes_no_naming) && message.contains(COLLECTION_UUID)
        })
    };
    let errors = reply.get_array("writeErrors").map(Vec::as_slice);
    errors.is_ok_and(|errors| !errors.is_empty() && errors.iter().all(refuses))
}

/// Whether the server refused a command because of one of its fields.
fn takes_no_naming(code: i32) -> bool {
    codes::is_unknown_field(code) || code == codes::INVALID_OPTIONS
}

/// The number that a refusal (225, "because a newer .. with txnNumber 17 has already started") names.
fn newer_number(refusal: &str) -> Option<i64> {
    let (_, newer) = refusal.rsplit_once("newer")?;
    let mut words = newer.split(|other: char| !other.is_ascii_digit());
    words.find(|word| !word.is_empty())?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Fault, newer_number};

    #[test]
    fn a_command_that_the_server_aborted_may_be_stored_in_part() {
        let of_code = |code| Fault::of_error(code, "");
        assert_eq!(of_code(11_602), Fault::BrokenOff { transient: true });
        assert_eq!(of_code(1), Fault::BrokenOff { transient: false });
        // The reply is too large.
        assert_eq!(of_code(10_334), Fault::BrokenOff { transient: false });
        assert_eq!(of_code(13_548), Fault::BrokenOff { transient: false });
        for nothing_ran in [13, 15, 73, 40_415] {
            assert_eq!(of_code(nothing_ran), Fault::Refused);
        }
        assert_eq!(of_code(365), Fault::BrokenOff { transient: true });
        assert_eq!(of_code(388), Fault::BrokenOff { transient: true });
        assert_eq!(of_code(50), Fault::BrokenOff { transient: false });
        assert_eq!(of_code(225), Fault::TooOld { newer: None });
        assert_eq!(of_code(20), Fault::NoNumbers);
        let unknown = "BSON field 'update.collectionUUID' is an unknown field.";
        assert_eq!(Fault::of_error(40_415, unknown), Fault::NoNaming);
        // MongoDB 6.0 with the feature compatibility version 5.0.
        let not_enabled = "The collectionUUID parameter is not enabled";
        assert_eq!(Fault::of_error(72, not_enabled), Fault::NoNaming);
        assert_eq!(Fault::of_error(72, "another option"), Fault::Refused);
    }

    #[test]
    fn a_refusal_names_the_number_that_the_server_has_seen() {
        let refusal = "Retryable write with txnNumber 1 is prohibited on session 20a0d82d-0a21 -  -  \
                       because a newer retryable write with txnNumber 5 has already started on this \
                       session.";
        assert_eq!(newer_number(refusal), Some(5));
        assert_eq!(newer_number("nothing of 3"), None);
    }
}
