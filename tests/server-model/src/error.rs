//! The server's refusals.

use bson::{Document, doc};

/// The code for anything that the model does not know: the server's `NotImplemented`.
pub const UNKNOWN: i32 = 238;

/// A refusal of a statement or of a command.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    pub(crate) code: i32,
    pub(crate) message: String,
    /// Further fields of the reply.
    pub(crate) details: Option<Box<Document>>,
}

impl Refusal {
    pub(crate) fn new(code: i32, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            details: None,
        }
    }

    /// Something that the server may know but the model does not. It ends the whole command.
    pub(crate) fn unknown(what: impl std::fmt::Display) -> Self {
        Self::new(
            UNKNOWN,
            format!("the model of the server does not know {what}"),
        )
    }

    pub(crate) fn is_unknown(&self) -> bool {
        self.code == UNKNOWN
    }

    /// An entry of `writeErrors`.
    pub(crate) fn of_statement(&self, index: i32) -> Document {
        let mut error = doc! { "index": index, "code": self.code, "errmsg": &self.message };
        if let Some(details) = &self.details {
            error.extend((**details).clone());
        }
        error
    }

    /// The reply to a command.
    pub(crate) fn of_command(&self) -> Document {
        let mut reply = doc! {
            "ok": 0.0,
            "errmsg": &self.message,
            "code": self.code,
            "codeName": code_name(self.code),
        };
        if let Some(details) = &self.details {
            reply.extend((**details).clone());
        }
        reply
    }
}

/// The server's name of a code.
pub(crate) fn code_name(code: i32) -> &'static str {
    match code {
        2 => "BadValue",
        9 => "FailedToParse",
        14 => "TypeMismatch",
        26 => "NamespaceNotFound",
        27 => "IndexNotFound",
        48 => "NamespaceExists",
        50 => "MaxTimeMSExpired",
        59 => "CommandNotFound",
        64 => "WriteConcernFailed",
        68 => "IndexAlreadyExists",
        85 => "IndexOptionsConflict",
        86 => "IndexKeySpecsConflict",
        171 => "CannotIndexParallelArrays",
        189 => "PrimarySteppedDown",
        225 => "TransactionTooOld",
        238 => "NotImplemented",
        361 => "CollectionUUIDMismatch",
        10_107 => "NotWritablePrimary",
        11_000 => "DuplicateKey",
        11_600 => "InterruptedAtShutdown",
        11_602 => "InterruptedDueToReplStateChange",
        13_435 => "NotPrimaryNoSecondaryOk",
        13_436 => "NotPrimaryOrSecondary",
        _ => "Unnamed",
    }
}
