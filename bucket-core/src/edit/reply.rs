//! What the server did with the statements of an edit.

use bson::{Bson, Document};

use super::edited::EditFailure;
use crate::{
    model::whole,
    write::{Answer, Certainty, WriteFailure},
};

/// The reply to the command of an edit.
///
/// ```
/// use bson::doc;
/// use bucket_core::edit::EditReply;
///
/// assert_eq!(EditReply::read(&doc! { "ok": 1, "n": 1 }).made, 1);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EditReply {
    /// The number of documents that were changed or removed.
    pub made: u64,
    /// Why the server refused a statement.
    pub refused: Option<WriteFailure>,
    /// The write concern was not met: what was done may be rolled back.
    pub unconfirmed: Option<WriteFailure>,
}

impl EditReply {
    /// Reads a reply.
    #[must_use]
    pub fn read(reply: &Document) -> Self {
        let made = whole::field(reply, "n").and_then(|made| u64::try_from(made).ok());
        let errors = reply.get_array("writeErrors");
        let first = errors.ok().and_then(|errors| errors.first());
        let failure = |error: &Document| {
            let code = whole::field(error, "code").and_then(|code| i32::try_from(code).ok());
            let message = error.get_str("errmsg").unwrap_or_default();
            WriteFailure::new(code.unwrap_or_default(), message.to_owned())
        };
        Self {
            made: made.unwrap_or_default(),
            refused: first.and_then(Bson::as_document).map(failure),
            unconfirmed: reply.get_document("writeConcernError").ok().map(failure),
        }
    }
}

/// How many documents the statements of a command have changed, each of which matches only the state that was
/// read; `None` if another writer came first and nothing was changed.
///
/// # Errors
///
/// [`EditFailure`] if the server refused it, or if the outcome is not known.
pub fn made_by(answer: &Answer) -> Result<Option<u64>, EditFailure> {
    let reply = EditReply::read(&answer.reply);
    if let Some(failure) = reply.unconfirmed {
        return Err(EditFailure::Unconfirmed(failure));
    }
    let is_open = !answer.open.is_empty() || !answer.taken.is_empty();
    let is_open = is_open || answer.repeated || answer.doubt != Certainty::Full;
    match reply.refused {
        Some(failure) if !is_open => Err(EditFailure::Refused(failure)),
        None if reply.made > 0 => Ok(Some(reply.made)),
        // An earlier attempt may have been applied.
        _ if is_open => Err(EditFailure::LostTry),
        _ => Ok(None),
    }
}
