//! Replies that the driver does not read.
//!
//! The server cuts what a message quotes of a document after 150 bytes, also within a character: the key in the refusal of
//! a unique index. `run_raw_command` then fails because the message is no UTF-8, although the reply has come.

use mongodb::{
    bson::{Document, Utf8Lossy},
    error::{Error, ErrorKind},
};

/// The reply, if it came, with other characters in the place of those that were cut.
pub(crate) fn readable(reply: Result<Document, Error>) -> Result<Document, Error> {
    reply.or_else(|error| cut(&error).ok_or(error))
}

fn cut(error: &Error) -> Option<Document> {
    let ErrorKind::Bson(_) = error.kind.as_ref() else {
        return None;
    };
    let reply = Utf8Lossy::<Document>::try_from(error.server_response()?);
    Some(reply.ok()?.0)
}
