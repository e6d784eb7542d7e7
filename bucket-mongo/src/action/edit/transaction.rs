//! A transaction of an edit: begun, committed, and begun again after a conflict with another writer.

use std::time::Duration;

use bucket_core::write::codes::INTERRUPTED;
use mongodb::{
    ClientSession, Collection, Database,
    bson::{RawDocumentBuf, doc, raw::cstr},
    error::{ErrorKind as DriverKind, WriteFailure},
    options::{Acknowledgment, ReadConcern, ReadPreference, SelectionCriteria, WriteConcern},
};
use tokio::{
    runtime::Handle,
    time::{Instant, sleep, timeout, timeout_at},
};

use super::again::passes;
use crate::{
    Error, ErrorKind, Result, backoff,
    collection::collection,
    error::{Context, NotKnown},
    write_concern::raw_write_concern,
    writer::not_sent_in_time,
};

/// The longest pause before another attempt, in milliseconds.
const PAUSE: u64 = 64;
/// The pauses, in seconds, before each attempt to end a transaction that was given up.
const PAUSES: [u64; 5] = [0, 1, 3, 10, 30];
/// How long each takes at most.
const PATIENCE: Duration = Duration::from_secs(10);
const TRANSIENT: &str = "TransientTransactionError";
const UNKNOWN: &str = "UnknownTransactionCommitResult";
/// `WriteConcernTimeout`
const LATE: i32 = 64;

/// The transaction of one edit, in a session of its own: if the call is dropped, nothing of it is left in a session
/// of the caller.
pub(in crate::action) struct Transaction {
    /// `None` only while it is dropped.
    session: Option<ClientSession>,
    /// The server may hold it open, and its buckets with it.
    is_open: bool,
    attempts: u32,
    database: Database,
    collection: &'static str,
    write_concern: Option<WriteConcern>,
    deadline: Instant,
    context: Context,
}

/// Whether the server takes transactions: members of replica sets and routers of sharded clusters do.
async fn takes_transactions(database: &Database) -> mongodb::error::Result<bool> {
    let hello = database.run_command(doc! { "hello": 1 }).await?;
    Ok(hello.contains_key("setName") || hello.contains_key("msg"))
}

/// Whether a commit is done, but its write concern was not met in the time that it gives. A repeated commit would be
/// asked for a majority only.
fn is_late(error: &mongodb::error::Error) -> bool {
    matches!(
        &*error.kind,
        DriverKind::Write(WriteFailure::WriteConcernError(unmet)) if unmet.code == LATE
    )
}

/// Whether others have ended a commit, or its wait for the write concern. The driver does not call that unknown.
fn is_interrupted(error: &mongodb::error::Error) -> bool {
    match &*error.kind {
        DriverKind::Command(error) => error.code == INTERRUPTED,
        DriverKind::Write(WriteFailure::WriteConcernError(unmet)) => unmet.code == INTERRUPTED,
        _ => false,
    }
}

impl Transaction {
    /// A session for transactions; `None` if the server has no transactions.
    pub(in crate::action) async fn new(
        (database, collection): (&Database, &'static str),
        write_concern: Option<&WriteConcern>,
        deadline: Instant,
        context: Context,
    ) -> Result<Option<Self>> {
        let session = timeout_at(deadline, database.client().start_session()).await;
        let session = session.map_err(|_| not_sent_in_time(&context))?;
        let session = session.map_err(|error| Error::read(error, &context))?;
        let takes = loop {
            let takes = timeout_at(deadline, takes_transactions(database)).await;
            match takes.map_err(|_| not_sent_in_time(&context))? {
                Ok(takes) => break takes,
                Err(error) => passes(Error::read(error, &context), deadline).await?,
            }
        };
        Ok(takes.then(|| Self {
            session: Some(session),
            is_open: false,
            attempts: 0,
            database: database.clone(),
            collection,
            write_concern: write_concern.cloned(),
            deadline,
            context,
        }))
    }

    pub(in crate::action) fn session(&mut self) -> Option<&mut ClientSession> {
        self.session.as_mut()
    }

    pub(in crate::action) async fn begin(&mut self) -> Result<()> {
        let primary = SelectionCriteria::ReadPreference(ReadPreference::Primary);
        let Some(session) = &mut self.session else {
            return Ok(());
        };
        self.is_open = true;
        self.attempts += 1;
        let start = session.start_transaction();
        // A transaction takes not every level that a client may have.
        let start = start.selection_criteria(primary);
        let start = start.read_concern(ReadConcern::local());
        let started = match self.write_concern.clone() {
            Some(concern) => start.write_concern(concern).await,
            None => start.await,
        };
        started.map_err(|error| Error::read(error, &self.context))
    }

    /// Ends the transaction: commits it if all of it went well. `None` if it has to begin again.
    pub(in crate::action) async fn end<R>(&mut self, done: Result<R>) -> Result<Option<R>> {
        let error = match done {
            Ok(done) => {
                if self.commit().await? {
                    self.confirm().await?;
                    return Ok(Some(done));
                }
                None
            }
            Err(error) => {
                let is_aborted = self.abort().await;
                // Nothing of a transaction that was not committed is stored.
                let passes = error.contains_label(TRANSIENT)
                    || error.is_outcome_unknown()
                    || error.is_retryable();
                // The server may still hold a command of it, or not have heard of its end.
                self.is_open = passes || !is_aborted;
                if !passes {
                    return Err(error);
                }
                Some(error.not_sent())
            }
        };
        if Instant::now() >= self.deadline {
            return Err(self.too_late(error));
        }
        sleep(backoff::between(0, PAUSE)).await;
        Ok(None)
    }

    /// The error of a call whose last attempt ended with this one, after its deadline.
    fn too_late(&self, last: Option<Error>) -> Error {
        let attempts = self.attempts;
        match last {
            // The server aborts the transactions of a member that is no longer primary, and those that take too long. Its
            // code says that of this attempt only.
            Some(error) if error.contains_label(TRANSIENT) && !error.is_retryable() => {
                let kind = ErrorKind::Contention { attempts };
                Error::with_driver(kind, &self.context, error.driver().cloned())
            }
            Some(error) => error,
            None => Error::new(ErrorKind::Contention { attempts }, &self.context),
        }
    }

    /// The next attempts are made until this time.
    pub(in crate::action) fn until(&mut self, deadline: Instant) {
        self.deadline = deadline;
        self.attempts = 0;
    }

    /// Ends the transaction: nothing of it is stored.
    pub(in crate::action) async fn give_up(&mut self) {
        // The server may not have heard of it.
        self.is_open = !self.abort().await;
    }

    /// Whether the driver could end the transaction. It says so if the server did not hear of it, too.
    async fn abort(&mut self) -> bool {
        let Some(session) = &mut self.session else {
            return false;
        };
        let aborted = timeout_at(self.deadline, session.abort_transaction()).await;
        aborted.is_ok_and(|aborted| aborted.is_ok())
    }

    /// Waits until the transaction, which is committed, has met its write concern.
    ///
    /// The driver asks a repeated commit for a majority, whatever the concern is, and repeats some by itself. A write that
    /// changes nothing is acknowledged once its concern is met for all that was written before.
    async fn confirm(&self) -> Result<()> {
        let concern = self.write_concern.as_ref();
        let asked = concern.and_then(|concern| concern.w.as_ref());
        // Any commit meets these.
        if matches!(
            asked,
            None | Some(Acknowledgment::Majority | Acknowledgment::Nodes(..=1))
        ) {
            return Ok(());
        }
        let nothing = doc! {
            "update": self.collection,
            "updates": [{ "q": { "_id": { "$in": [] } }, "u": { "$setOnInsert": { "_id": 0 } } }],
        };
        let concern = raw_write_concern(concern, &self.context)?;
        let mut nothing = RawDocumentBuf::try_from(&nothing).unwrap_or_default();
        if let Some(concern) = concern {
            nothing.append(cstr!("writeConcern"), concern);
        }
        let confirming = self.database.run_raw_command(nothing);
        let not_known = |error| Err(Error::unknown(error, &self.context));
        let reply = match timeout_at(self.deadline, confirming).await {
            Err(_) => return Err(Error::not_known(NotKnown::NoReply, &self.context)),
            Ok(Err(error)) => return not_known(error),
            Ok(Ok(reply)) => reply,
        };
        let refused = reply.get_array("writeErrors").ok();
        let refused = refused.and_then(|errors| errors.first()?.as_document());
        match refused.or(reply.get_document("writeConcernError").ok()) {
            Some(unmet) => {
                let message = unmet.get_str("errmsg").unwrap_or_default();
                not_known(mongodb::error::Error::custom(message.to_owned()))
            }
            None => Ok(()),
        }
    }

    /// Whether it is committed; otherwise nothing of it is stored.
    async fn commit(&mut self) -> Result<bool> {
        loop {
            let Some(session) = &mut self.session else {
                return Ok(false);
            };
            let commit = session.commit_transaction();
            let Ok(committed) = timeout_at(self.deadline, commit).await else {
                return Err(Error::not_known(NotKnown::NoReply, &self.context));
            };
            let Err(error) = committed else {
                self.is_open = false;
                return Ok(true);
            };
            if is_late(&error) {
                self.is_open = false;
                return Err(Error::unknown(error, &self.context));
            }
            let is_unknown = error.contains_label(UNKNOWN) || is_interrupted(&error);
            match (is_unknown, error.contains_label(TRANSIENT)) {
                // The server knows the transaction by its number, so the commit may come any number of times.
                (true, _) if Instant::now() < self.deadline => {
                    sleep(backoff::spread(PAUSE)).await;
                }
                (true, _) => return Err(Error::unknown(error, &self.context)),
                (false, true) => {
                    self.is_open = false;
                    return Ok(false);
                }
                // It is committed, but by fewer members than the write concern asks for. The driver does not call that
                // unknown if the members can never be enough.
                _ if matches!(*error.kind, DriverKind::Write(_)) => {
                    return Err(Error::unknown(error, &self.context));
                }
                (false, false) => return Err(Error::read(error, &self.context)),
            }
        }
    }
}

/// A transaction that may be open would keep others from its buckets for a minute.
impl Drop for Transaction {
    fn drop(&mut self) {
        let session = self.session.take();
        let (true, Some(session), Ok(runtime)) = (self.is_open, session, Handle::try_current())
        else {
            return;
        };
        let collection = collection(&self.database, self.collection);
        runtime.spawn(end_former(session, collection));
    }
}

/// Ends a transaction that was given up.
///
/// The driver aborts none whose commit was sent, and the server may begin it only after this. A transaction with the next
/// number ends it wherever it is: the server takes nothing of an earlier number any more. If it is committed, nothing
/// changes. Nobody else uses the session until then.
async fn end_former(mut session: ClientSession, collection: Collection<RawDocumentBuf>) {
    for pause in PAUSES {
        sleep(Duration::from_secs(pause)).await;
        let ended = timeout(PATIENCE, begin_next(&mut session, &collection)).await;
        if ended.is_ok_and(|ended| ended.is_ok()) {
            return;
        }
    }
    // The server ends it by itself.
}

/// Begins the next transaction of a session, and aborts it.
async fn begin_next(
    session: &mut ClientSession,
    collection: &Collection<RawDocumentBuf>,
) -> mongodb::error::Result<()> {
    // An error says that none is in progress for the driver.
    session.abort_transaction().await.ok();
    let primary = SelectionCriteria::ReadPreference(ReadPreference::Primary);
    let start = session.start_transaction().selection_criteria(primary);
    start.read_concern(ReadConcern::local()).await?;
    let found = collection.find_one(doc! {}).projection(doc! { "_id": 1 });
    let begun = found.session(&mut *session).await.map(drop);
    session.abort_transaction().await.ok();
    begun
}
