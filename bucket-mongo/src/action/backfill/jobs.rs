//! The jobs of a database, and the sessions of those who work on them.

use std::time::Duration;

use bucket_core::{
    backfill::{Advance, COLLECTION, Job, JobFault},
    write::codes::DUPLICATE_KEY,
};
use mongodb::{
    ClientSession, Collection,
    bson::{DateTime, Document, doc, oid::ObjectId},
    error::{ErrorKind as DriverKind, WriteFailure},
    options::WriteConcern,
};
use tokio::{
    runtime::Handle,
    time::{Instant, timeout, timeout_at},
};

use super::tries::{patience, tried};
use crate::{
    Error, ErrorKind, Result,
    collection::collection_on_primary,
    error::{Context, ReadFault},
    store::Store,
};

/// How long the server is waited for that ends a session.
const END: Duration = Duration::from_secs(10);

/// The jobs of a database.
#[derive(Debug, Clone)]
pub(super) struct Jobs {
    stored_in: Collection<Document>,
    write_concern: WriteConcern,
    patience: Duration,
    context: Context,
}

impl Jobs {
    pub(super) fn new(store: &Store, context: &Context) -> Self {
        Self {
            stored_in: collection_on_primary(store.database(), COLLECTION),
            write_concern: store.write_concern().clone(),
            patience: patience(store),
            context: context.clone(),
        }
    }

    /// Sends a command that may be sent any number of times.
    async fn tried<R, F>(&self, command: impl Fn() -> F) -> Result<R>
    where
        F: IntoFuture<Output = mongodb::error::Result<R>>,
    {
        tried(Instant::now() + self.patience, &self.context, command).await
    }

    /// The error of a job that cannot go on.
    pub(super) fn fault(fault: JobFault, job: &Job, context: &Context) -> Error {
        let id = job.filter();
        let what = match fault {
            JobFault::OtherSource => {
                "has read another collection of the same name: give the job of this one another name with `named`"
            }
            JobFault::OtherOrder => {
                "reads in another order: go on without `by_id` and `by_index`, and with the index that it reads by as it was"
            }
            _ => "is not as this version writes it: go on with the version that has begun it",
        };
        let message = format!("the job {id} in `{COLLECTION}` {what}");
        Error::new(ErrorKind::InvalidArgument { message }, context)
    }

    /// The job as it is stored, if it has begun.
    pub(super) async fn stored(&self, fresh: &Job) -> Result<Option<Job>> {
        let find = || self.stored_in.find_one(fresh.filter());
        let document = self.tried(find).await?;
        let stored = document.map(|document| fresh.stored(&document));
        stored
            .transpose()
            .map_err(|fault| Self::fault(fault, fresh, &self.context))
    }

    /// Stores a job that has not begun, unless another worker was faster.
    pub(super) async fn add(&self, fresh: &Job) -> Result<()> {
        let add = || async {
            let insert = self.stored_in.insert_one(fresh.document(DateTime::now()));
            match insert.write_concern(self.write_concern.clone()).await {
                Err(error) if !is_taken(&error) => Err(error),
                _ => Ok(()),
            }
        };
        self.tried(add).await
    }

    /// Makes this worker the one that goes on with a job; `None` if another one has changed it since it was read.
    ///
    /// Ends the sessions of former workers first: one that was killed may have left a transaction, which would keep this one
    /// from the documents of the job.
    pub(super) async fn claim(&self, mut job: Job) -> Result<Option<Job>> {
        let sessions = job.sessions().to_vec();
        if !sessions.is_empty() {
            let kill = doc! { "killSessions": sessions.clone() };
            let admin = self.stored_in.client().database("admin");
            // Without it the server ends the transaction after a minute. A user has the right for its own sessions.
            let ended = timeout(END, admin.run_command(kill)).await;
            tracing::debug!(target: crate::trace::WRITE, ended = ended.is_ok_and(|it| it.is_ok()), "killSessions");
        }
        let worker = ObjectId::new();
        let claim = job.claim(worker, DateTime::now());
        if !self.send(claim).await? {
            return Ok(None);
        }
        job.claimed(worker);
        self.send(job.forget_sessions(&sessions)).await?;
        Ok(Some(job))
    }

    /// Sends a statement, and again if its outcome is not known. Returns whether it matched.
    async fn send(&self, advance: Advance) -> Result<bool> {
        let Advance { filter, update, .. } = advance;
        let send = || {
            let update = self.stored_in.update_one(filter.clone(), update.clone());
            update.write_concern(self.write_concern.clone())
        };
        Ok(self.tried(send).await?.matched_count > 0)
    }

    /// Sends a statement in a transaction.
    pub(super) async fn send_in(
        &self,
        advance: Advance,
        session: &mut ClientSession,
        until: Instant,
        job: &Job,
    ) -> Result<()> {
        let Advance { filter, update, .. } = advance;
        let update = self.stored_in.update_one(filter, update).session(session);
        let late = |_| Error::read(ReadFault::Late, &self.context);
        match timeout_at(until, update).await.map_err(late)? {
            Ok(updated) if updated.matched_count > 0 => Ok(()),
            Ok(_) => Err(self.taken_over(job)),
            Err(error) => Err(Error::read(error, &self.context)),
        }
    }

    /// The error of a worker that another one has overtaken.
    pub(super) fn taken_over(&self, job: &Job) -> Error {
        let job = job.name().to_owned();
        Error::new(ErrorKind::TakenOver { job }, &self.context)
    }
}

/// Whether a document with this `_id` is there.
fn is_taken(error: &mongodb::error::Error) -> bool {
    matches!(
        &*error.kind,
        DriverKind::Write(WriteFailure::WriteError(error)) if error.code == DUPLICATE_KEY
    )
}

/// The sessions of this worker, which the job names.
pub(super) struct NamedSessions {
    jobs: Jobs,
    sessions: Vec<Document>,
    job: Job,
}

impl NamedSessions {
    pub(super) fn new(jobs: &Jobs, job: &Job) -> Self {
        Self {
            jobs: jobs.clone(),
            sessions: Vec::new(),
            job: job.clone(),
        }
    }

    /// Lets the job name a session, before its first transaction.
    pub(super) async fn add(&mut self, session: &Document, job: &Job) -> Result<()> {
        if self.sessions.contains(session) {
            return Ok(());
        }
        // Also if it is not known whether it was named.
        self.sessions.push(session.clone());
        if self.jobs.send(job.name_session(session)).await? {
            return Ok(());
        }
        Err(self.jobs.taken_over(job))
    }

    /// Takes the names away: the driver uses the sessions for other calls, which nobody may end.
    pub(super) async fn forget(&mut self) -> Result<()> {
        if !self.sessions.is_empty() {
            let advance = self.job.forget_sessions(&self.sessions);
            self.jobs.send(advance).await?;
            self.sessions.clear();
        }
        Ok(())
    }
}

/// A call that ends early, or is dropped, takes its names away as well.
impl Drop for NamedSessions {
    fn drop(&mut self) {
        if self.sessions.is_empty() {
            return;
        }
        if let Ok(runtime) = Handle::try_current() {
            let (jobs, advance) = (self.jobs.clone(), self.job.forget_sessions(&self.sessions));
            runtime.spawn(async move { jobs.send(advance).await.ok() });
        }
    }
}
