//! The reads and looks of a write call.
//!
//! They run on the primary, each in a task of its own unless it is in the caller's session.

use bson::{Document, RawDocumentBuf, raw::cstr};
use bucket_core::{
    read::{FindPlan, ReadLevel},
    write::{CallEvent, Fault, Listing, Look, Pauses, WriteFailure},
};
use futures_util::future::try_join_all;
use tokio::time::{Instant, sleep, timeout_at};

use super::{
    Writer,
    deadline::{GRACE, time_limit},
    faults,
    send::runtime_stopped,
    session,
};
use crate::{
    backoff,
    error::{Context, Error, ErrorKind},
};

/// Why a read failed.
#[derive(Debug)]
enum ReadError {
    Driver(mongodb::error::Error),
    Late(Error),
}

/// Why the documents of a plan are not known.
#[derive(Debug)]
struct NotFound {
    error: Error,
    /// What the server says, if it refused the read.
    refusal: Option<WriteFailure>,
}

impl NotFound {
    fn of_plan(plan: &FindPlan, error: mongodb::error::Error, context: &Context) -> Self {
        Self {
            refusal: faults::refusal(&error),
            error: Error::read_by(&plan.hint, error, context),
        }
    }
}

impl From<Error> for NotFound {
    fn from(error: Error) -> Self {
        let refusal = None;
        Self { error, refusal }
    }
}

impl From<NotFound> for CallEvent<Error> {
    fn from(NotFound { error, refusal }: NotFound) -> Self {
        match refusal {
            Some(failure) => Self::Refused { error, failure },
            None => Self::Failed(error),
        }
    }
}

impl Writer<'_> {
    /// Looks at the collection.
    pub(super) async fn look(&self, look: Look) -> CallEvent<Error> {
        let command = look.command(self.spec);
        let command = RawDocumentBuf::try_from(&command).unwrap_or_default();
        let error = match self.ask(&command).await {
            Ok(reply) => return CallEvent::Listed(Listing::of_reply(&reply)),
            Err(ReadError::Late(error)) => return CallEvent::Failed(error),
            Err(ReadError::Driver(error)) => error,
        };
        match faults::code(&error).and_then(Listing::of_error) {
            Some(listing) => {
                if listing == Listing::NotPermitted {
                    self.cache.warn_of_no_look(look, self.spec);
                }
                CallEvent::Listed(listing)
            }
            None => CallEvent::Failed(Error::read(error, &self.context)),
        }
    }

    /// Reads the documents of each plan, in parallel unless in a session.
    pub(super) async fn find(&mut self, plans: &[FindPlan]) -> CallEvent<Error> {
        let found = if self.session.is_none() {
            try_join_all(plans.iter().map(|plan| self.find_alone(plan))).await
        } else {
            self.find_in_session(plans).await
        };
        found.map_or_else(CallEvent::from, CallEvent::Found)
    }

    /// Reads what a majority has, and not less than what the primary has now.
    pub(crate) async fn certain(mut self, plan: FindPlan) -> Result<Vec<RawDocumentBuf>, Error> {
        let mut now = plan.clone();
        now.level = ReadLevel::Local;
        let mut found = Vec::new();
        for plan in [now, plan] {
            found = match self.find(&[plan]).await {
                CallEvent::Found(found) => found.into_iter().flatten().collect(),
                CallEvent::Refused { error, .. } | CallEvent::Failed(error) => return Err(error),
                // A read comes to nothing else.
                _ => return Err(no_answer_in_time(&self.context)),
            };
        }
        Ok(found)
    }

    async fn find_in_session(
        &mut self,
        plans: &[FindPlan],
    ) -> Result<Vec<Vec<RawDocumentBuf>>, NotFound> {
        let mut found = Vec::with_capacity(plans.len());
        for plan in plans {
            found.push(self.find_one_in_session(plan).await?);
        }
        Ok(found)
    }

    async fn find_one_in_session(
        &mut self,
        plan: &FindPlan,
    ) -> Result<Vec<RawDocumentBuf>, NotFound> {
        let mut concern = self.commitment.read_concern(plan.level);
        if concern.is_some() && self.is_in_transaction().await? {
            // It has a read concern of its own, and either stays with its primary or fails.
            concern = None;
        }
        let mut pauses = Pauses::OF_A_TRY;
        loop {
            let command = self.command(plan, concern.as_ref());
            let error = match self.read_in_session(command).await {
                Ok(reply) => {
                    self.commitment.saw(&reply);
                    return Ok(documents(&reply, &self.context)?);
                }
                Err(ReadError::Late(error)) => return Err(error.into()),
                Err(ReadError::Driver(error)) => error,
            };
            // The caller must repeat a transaction that lost its connection.
            if !faults::fault(&error).is_passing()
                || self.is_in_transaction().await?
                || !self.waits_for_another(&mut pauses).await
            {
                return Err(NotFound::of_plan(plan, error, &self.context));
            }
        }
    }

    pub(super) async fn is_in_transaction(&mut self) -> Result<bool, Error> {
        let Some(session) = &mut self.session else {
            return Ok(false);
        };
        session::is_in_transaction(session, self.deadline)
            .await
            .map_err(|_| no_answer_in_time(&self.context))
    }

    async fn find_alone(&self, plan: &FindPlan) -> Result<Vec<RawDocumentBuf>, NotFound> {
        let concern = self.commitment.read_concern(plan.level);
        match self.ask(&self.command(plan, concern.as_ref())).await {
            Ok(reply) => {
                self.commitment.saw(&reply);
                Ok(documents(&reply, &self.context)?)
            }
            Err(ReadError::Late(error)) => Err(error.into()),
            Err(ReadError::Driver(error)) => Err(NotFound::of_plan(plan, error, &self.context)),
        }
    }

    /// Outside a session a read is retried until the deadline, as long as the server may come back.
    async fn ask(&self, command: &RawDocumentBuf) -> Result<Document, ReadError> {
        let mut pauses = Pauses::OF_A_TRY;
        loop {
            let error = match self.read(command.clone()).await {
                Err(ReadError::Driver(error)) => error,
                done => return done,
            };
            let fault: Fault = faults::fault(&error);
            if !fault.is_passing() || !self.waits_for_another(&mut pauses).await {
                return Err(ReadError::Driver(error));
            }
        }
    }

    /// Waits before another attempt; returns false if there is no time for one.
    async fn waits_for_another(&self, pauses: &mut Pauses) -> bool {
        let pause = backoff::spread(pauses.next_ceiling());
        let is_left = Instant::now() + pause < self.deadline;
        if is_left {
            sleep(pause).await;
        }
        is_left
    }

    /// Runs a read in a task of its own, until the deadline.
    async fn read(&self, mut command: RawDocumentBuf) -> Result<Document, ReadError> {
        let database = self.database.clone();
        let end = self.deadline + GRACE;
        command.append(cstr!("maxTimeMS"), time_limit(self.deadline));
        let task = tokio::spawn(timeout_at(end, async move {
            database.run_raw_command(command).await
        }));
        match task.await {
            Ok(Ok(read)) => self.in_time(read),
            Ok(Err(_)) => Err(ReadError::Late(no_answer_in_time(&self.context))),
            Err(stopped) => Err(ReadError::Late(runtime_stopped(&stopped, &self.context))),
        }
    }

    /// The same in the caller's session, where nothing can run in a task of its own.
    async fn read_in_session(
        &mut self,
        mut command: RawDocumentBuf,
    ) -> Result<Document, ReadError> {
        let Some(session) = &mut self.session else {
            return self.read(command).await;
        };
        command.append(cstr!("maxTimeMS"), time_limit(self.deadline));
        let run = self.database.run_raw_command(command);
        let run = run.session(&mut **session).into_future();
        match timeout_at(self.deadline + GRACE, run).await {
            Ok(read) => self.in_time(read),
            Err(_) => Err(ReadError::Late(no_answer_in_time(&self.context))),
        }
    }

    fn command(&self, plan: &FindPlan, concern: Option<&RawDocumentBuf>) -> RawDocumentBuf {
        let mut command = plan.single_batch(self.collection);
        if let Some(concern) = concern {
            command.append(cstr!("readConcern"), concern.clone());
        }
        command
    }

    fn in_time(&self, read: mongodb::error::Result<Document>) -> Result<Document, ReadError> {
        read.map_err(|error| {
            if faults::has_run_out_of_time(&error) {
                ReadError::Late(no_answer_in_time(&self.context))
            } else {
                ReadError::Driver(error)
            }
        })
    }
}

fn documents(reply: &Document, context: &Context) -> Result<Vec<RawDocumentBuf>, Error> {
    first_batch(reply).ok_or_else(|| {
        let message = "the server's reply to `find` has no batch".to_owned();
        Error::new(ErrorKind::Driver { message }, context)
    })
}

fn first_batch(reply: &Document) -> Option<Vec<RawDocumentBuf>> {
    let batch = reply
        .get_document("cursor")
        .ok()?
        .get_array("firstBatch")
        .ok()?;
    batch
        .iter()
        .map(|found| RawDocumentBuf::try_from(found.as_document()?).ok())
        .collect()
}

/// The error of records whose buckets no read returned before the deadline. The driver does not say what it
/// waited for.
fn no_answer_in_time(context: &Context) -> Error {
    let message = "the deadline of the write passed before it could be sent: a read that it needs got no reply, because \
                   the server did not answer or the client's pool had no free connection"
        .to_owned();
    Error::new(ErrorKind::Unreachable { message }, context)
}
