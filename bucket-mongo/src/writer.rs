//! Runs a write call: does what core says next, until every record is stored or has an error.
//!
//! Core decides what to read and send, and what a reply means. This module has the sockets, sessions, clock,
//! tasks and random pauses.

use std::{sync::Arc, time::Duration};

use bson::{DateTime, RawDocumentBuf};
use bucket_core::{
    BucketSpec,
    write::{Batch, Call, CallEvent, Next, Terms},
};
use mongodb::{ClientSession, Database, options::WriteConcern};
use tokio::time::{Instant, sleep};

use self::{cache::SharedCache, commitment::Commitment};
use crate::{
    backoff,
    error::{Context, Error},
    store::Store,
    write_concern::raw_write_concern,
};

pub(crate) mod cache;
pub(crate) mod callers;
mod channel;
mod commitment;
pub(crate) mod deadline;
mod delivery;
pub(crate) mod faults;
mod reading;
pub(crate) mod report;
mod selection;
mod send;
mod session;

pub(crate) use self::{
    callers::Callers,
    channel::Channel,
    deadline::LONGEST_DEADLINE,
    delivery::not_sent_in_time,
    report::{Written, all_unsent},
    session::{is_in_transaction, reads_a_snapshot, refuse_snapshot, sees_one_moment},
};

/// With less time than this, a call does not wait for a writer that has reserved a bucket.
const HURRY: Duration = Duration::from_secs(1);

/// The settings that a call can use instead of the handle's.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Settings {
    pub(crate) write_concern: Option<WriteConcern>,
    pub(crate) deadline: Option<Duration>,
}

/// Writes the batch of one call.
pub(crate) struct Writer<'a> {
    database: &'a Database,
    cache: &'a Arc<SharedCache>,
    spec: &'static BucketSpec,
    /// The collection that is read.
    collection: &'a str,
    session: Option<&'a mut ClientSession>,
    write_concern: Option<RawDocumentBuf>,
    commitment: Commitment,
    deadline: Instant,
    context: Context,
    /// The calls that wait for the records, if several share the batch.
    callers: Option<&'a mut Callers>,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(
        store: &'a Store,
        session: Option<&'a mut ClientSession>,
        settings: &Settings,
        context: Context,
    ) -> Result<Self, Error> {
        // In a transaction a command has no write concern of its own: the transaction's applies. So a session
        // gets one only if the caller sets it.
        let default = session.is_none().then(|| store.write_concern());
        let concern = settings.write_concern.as_ref().or(default);
        let patience = settings.deadline.unwrap_or(store.deadline());
        Ok(Self {
            database: store.database(),
            cache: store.cache(),
            spec: store.spec(),
            collection: store.spec().collection(),
            session,
            write_concern: raw_write_concern(concern, &context)?,
            commitment: Commitment::of(concern),
            deadline: Instant::now() + patience.min(LONGEST_DEADLINE),
            context,
            callers: None,
        })
    }

    /// Whether it waits until its writes are permanent.
    pub(crate) fn is_for_good(&self) -> bool {
        self.commitment.is_for_good()
    }

    /// Reads another collection.
    pub(crate) fn of_collection(mut self, collection: &'a str) -> Self {
        self.collection = collection;
        self
    }

    /// Counts the deadline from this time on.
    pub(crate) fn since(mut self, since: Instant) -> Self {
        // The result is not before `since`, so the clock can represent it.
        self.deadline -= since.elapsed().min(LONGEST_DEADLINE);
        self
    }

    /// Stores the records of each of these calls as long as the call waits for them.
    pub(crate) fn of_callers(mut self, callers: &'a mut Callers) -> Self {
        self.callers = Some(callers);
        self
    }

    /// Stores the records of a batch.
    pub(crate) async fn store(mut self, batch: &mut Batch) -> Written {
        if let Some(session) = &mut self.session
            && let Err(refused) = refuse_snapshot(session, &self.context).await
        {
            let failed = all_unsent(&mut batch.take(), &refused);
            return Written::all_failed(failed, &refused);
        }
        let begun = std::time::Instant::now();
        // Its records may have been gathered long ago, and what may be merged by now is looked for.
        batch.set_now(DateTime::now());
        let mut terms = self.terms();
        if self.session.is_some() {
            // Without an answer the call ends before it sends anything.
            terms.in_transaction = self.is_in_transaction().await.unwrap_or(true);
        }
        let mut call = Call::new(batch.take(), terms);
        loop {
            if let Some(callers) = &mut self.callers {
                callers.take_out_gone(|records| call.gone(records));
            }
            match call.next() {
                Next::Consult => {
                    let mut cache = self.cache.lock();
                    let looks = cache.looks();
                    call.consult(&mut cache);
                    let has_looked = cache.looks() != looks;
                    drop(cache);
                    if has_looked {
                        self.cache.looked(begun);
                    }
                }
                // Everything in flight was awaited.
                Next::Wait | Next::Done => break,
                next => {
                    if let Some(event) = self.act(next).await {
                        call.told(event);
                    }
                }
            }
        }
        let (stored, report) = call.end();
        *batch = stored;
        let written = Written::of(report, batch, &self.context);
        if written.failed.iter().any(|(_, error)| error.is_drift()) {
            // An index that is not the model's has refused a record: another model may have the collection.
            self.cache.look_again();
        }
        written
    }

    fn terms(&self) -> Terms {
        let mut terms = Terms::default();
        terms.in_session = self.session.is_some();
        terms.for_good = self.commitment.is_for_good();
        let left = self.deadline.saturating_duration_since(Instant::now());
        terms.in_a_hurry = left < HURRY;
        terms.looks_anew = self.cache.is_due();
        terms
    }

    /// Does the next step and returns its result; `None` if there was nothing to do.
    async fn act(&mut self, next: Next) -> Option<CallEvent<Error>> {
        Some(match next {
            Next::Look(look) => self.look(look).await,
            Next::Read(plans) => self.find(&plans).await,
            Next::Send(commands) => CallEvent::Ended {
                commands: self.send(commands).await,
                late: Instant::now() >= self.deadline,
            },
            Next::Pause { floor, ceiling } => {
                sleep(backoff::between(floor, ceiling)).await;
                CallEvent::Paused
            }
            Next::Consult | Next::Wait | Next::Done => return None,
        })
    }
}
