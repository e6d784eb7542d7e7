//! A command's own session, and the number that lets the server distinguish a repetition from a new command.
//!
//! Source of the protocol: the retryable writes of MongoDB's driver specifications. The driver uses it for
//! its own operations, with one repetition; here it is used for the library's commands, with as many as
//! needed (`bucket_core::write::Delivery`).

use std::{
    fmt::{self, Write},
    time::Duration,
};

use futures_util::FutureExt;
use mongodb::{
    ClientSession,
    bson::doc,
    error::{Error, ErrorKind},
    options::WriteConcern,
};
use tokio::time::{Instant, error::Elapsed, timeout_at};

use crate::error::Context;

/// The name, in the driver's debug form of a session, of the number of its last retryable write.
const NUMBER: &str = "txn_number: ";
/// The name of the mark that a connection broke with a command in flight; it comes before the number.
const MARK: &str = "dirty: ";
/// The driver's error for a transaction inside another one.
const IN_TRANSACTION: &str = "already in progress";
/// The driver's error for a transaction in a snapshot session.
const OF_A_SNAPSHOT: &str = "snapshot sessions";
/// How long to wait for a server that the driver has not met yet, for a session that a command has used.
const SHORTLY: Duration = Duration::from_secs(1);

/// The numbering of the next command of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbering {
    /// Its number.
    Number(i64),
    /// The session is in a transaction, where commands have no number of their own.
    InTransaction,
    /// The server takes none.
    Unavailable,
    /// The driver does not show how it counts.
    Unreadable,
}

/// Takes the number of the next command of this session.
///
/// Sessions come from the driver's pool and return to it, so the driver must count with us. If it lagged, the
/// server would refuse its next write as an old one (225). The driver counts up when a transaction begins,
/// and sends nothing for one that is aborted at once. If the value that it shows does not grow by one, it is
/// not the number.
pub(super) async fn next_number(session: &mut ClientSession) -> mongodb::error::Result<Numbering> {
    let before = last_number(session);
    let begun = match begin(session).await {
        Err(error) if is_unmet(&error) => {
            // The driver has not met its server yet, and reports that as "not supported": a command of any
            // kind waits for the server.
            meet_server(session).await?;
            begin(session).await
        }
        begun => begun,
    };
    match begun {
        Ok(()) => session.abort_transaction().await?,
        Err(error) => {
            return match error.kind.as_ref() {
                ErrorKind::Transaction { message, .. } if message.contains(IN_TRANSACTION) => {
                    Ok(Numbering::InTransaction)
                }
                ErrorKind::Transaction { .. } => Ok(Numbering::Unavailable),
                _ => Err(error),
            };
        }
    }
    let grown = before.and_then(|before| before.checked_add(1));
    Ok(match last_number(session) {
        Some(number) if Some(number) == grown => Numbering::Number(number),
        _ => Numbering::Unreadable,
    })
}

/// Begins a transaction for which nothing is ever sent. It has its own write concern, because the client's
/// may be one that transactions cannot have, which says nothing about numbers.
async fn begin(session: &mut ClientSession) -> mongodb::error::Result<()> {
    let begin = session.start_transaction();
    begin.write_concern(WriteConcern::majority()).await
}

/// Refuses a snapshot session: the server takes no writes in it. Its errors for the reads of a write differ
/// from form to form, so nothing is sent.
pub(crate) async fn refuse_snapshot(
    session: &mut ClientSession,
    context: &Context,
) -> Result<(), crate::Error> {
    if !reads_a_snapshot(session).await {
        return Ok(());
    }
    let message = "a snapshot session cannot write: use another session".to_owned();
    Err(crate::Error::new(
        crate::ErrorKind::InvalidArgument { message },
        context,
    ))
}

/// Whether the session reads a snapshot; a session in a transaction does not.
pub(crate) async fn reads_a_snapshot(session: &mut ClientSession) -> bool {
    // The driver refuses it before it waits for anything. Otherwise it may wait for a server that it has not
    // met yet, which says nothing about the session.
    let refused = match begin(session).now_or_never() {
        None => None,
        // Nothing was sent for it.
        Some(Ok(())) => session.abort_transaction().await.err(),
        Some(Err(error)) => Some(error),
    };
    refused.is_some_and(|error| {
        matches!(error.kind.as_ref(), ErrorKind::Transaction { message, .. } if message.contains(OF_A_SNAPSHOT))
    })
}

/// Whether the session is in a transaction. If the driver has not met its server yet, this waits for it,
/// until the deadline.
pub(crate) async fn is_in_transaction(
    session: &mut ClientSession,
    deadline: Instant,
) -> Result<bool, Elapsed> {
    let number = timeout_at(deadline, next_number(session)).await?;
    Ok(matches!(number, Ok(Numbering::InTransaction)))
}

/// Whether all reads of the session see one moment: those of a snapshot or of a transaction do.
pub(crate) async fn sees_one_moment(session: &mut ClientSession) -> bool {
    let soon = Instant::now() + SHORTLY;
    reads_a_snapshot(session).await || is_in_transaction(session, soon).await.unwrap_or(true)
}

/// Whether a command of this session can have reached a connection. The driver marks its session if a
/// connection breaks, but not if none could be made. Also true if this cannot be determined.
pub(super) fn has_lost_a_command(session: &ClientSession) -> bool {
    Search::in_session(session).mark().unwrap_or(true)
}

fn is_unmet(error: &Error) -> bool {
    matches!(error.kind.as_ref(), ErrorKind::Transaction { message, .. } if message.contains("not supported"))
}

async fn meet_server(session: &ClientSession) -> mongodb::error::Result<()> {
    let admin = session.client().database("admin");
    admin.run_command(doc! { "ping": 1 }).await.map(drop)
}

/// The driver shows the number only in its debug form.
fn last_number(session: &ClientSession) -> Option<i64> {
    Search::in_session(session).number()
}

/// Accepts text until it has seen the number.
#[derive(Debug, Default)]
struct Search {
    seen: String,
    /// Where the number begins, once its name was found.
    number_at: Option<usize>,
}

impl Search {
    fn in_session(session: &ClientSession) -> Self {
        let mut search = Self::default();
        // The search ends the printing once it has the number: that is no error.
        let _ = write!(search, "{session:?}");
        search
    }

    fn number(&self) -> Option<i64> {
        value(self.seen.get(self.number_at?..)?)?.parse().ok()
    }

    fn mark(&self) -> Option<bool> {
        let (_, mark) = self.seen.split_once(MARK)?;
        value(mark)?.parse().ok()
    }
}

/// The value at the start of this text, once it is complete.
fn value(text: &str) -> Option<&str> {
    text.split_once([' ', ',', '}']).map(|(value, _)| value)
}

impl Write for Search {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let before = self.seen.len();
        self.seen.push_str(text);
        if self.number_at.is_none() {
            // A part of the name may have come before.
            let from = before.saturating_sub(NUMBER.len());
            let from = if self.seen.is_char_boundary(from) {
                from
            } else {
                0
            };
            let found = self.seen.get(from..).and_then(|new| new.find(NUMBER));
            self.number_at = found.map(|at| from + at + NUMBER.len());
        }
        match self.number() {
            Some(_) => Err(fmt::Error),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "in a test it is the point")]
mod tests {
    use std::fmt::Write;

    use mongodb::Client;

    use super::{Search, last_number, refuse_snapshot};
    use crate::error::Context;

    /// If this fails with a new version of the driver, see "Numbers" in `docs/architecture.md`.
    #[tokio::test]
    async fn the_driver_shows_the_number_and_the_mark_of_a_session() {
        let client = Client::with_uri_str("mongodb://localhost:1").await.unwrap();
        let session = client.start_session().await.unwrap();
        assert_eq!(last_number(&session), Some(0), "{session:?}");
        assert_eq!(Search::in_session(&session).mark(), Some(false));
    }

    /// If this fails with a new version of the driver, look at how it refuses the transaction.
    #[tokio::test]
    async fn a_snapshot_session_is_distinguished_from_others() {
        let client = Client::with_uri_str("mongodb://localhost:1").await.unwrap();
        let context = Context {
            operation: "insert",
            collection: "trades",
            spec: None,
            key: None,
        };
        let mut other = client.start_session().await.unwrap();
        refuse_snapshot(&mut other, &context).await.unwrap();
        let mut snapshot = client.start_session().snapshot(true).await.unwrap();
        let refused = refuse_snapshot(&mut snapshot, &context).await;
        assert!(refused.is_err());
    }

    #[test]
    fn the_number_is_found_however_the_text_is_cut() {
        let text =
            "ClientSession { server_session: ServerSession { dirty: true, txn_number: 170 }, r";
        for cut in 0..text.len() {
            let mut search = Search::default();
            let _ = search.write_str(&text[..cut]);
            let _ = search.write_str(&text[cut..]);
            assert_eq!(search.number(), Some(170), "cut at {cut}");
            assert_eq!(search.mark(), Some(true), "cut at {cut}");
        }
    }
}
