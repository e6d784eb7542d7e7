//! The commands of a round on their way: side by side, or one after the other in the caller's
//! session.
//!
//! Outside of the caller's session each command runs in a task of its own: a caller that drops its
//! future half-way leaves no connection with half a message. What may have left by then is seen through,
//! until the deadline; what has not is called off. Soon after the deadline the task ends in any case, and gives
//! back its connection: the driver closes one on which a reply is outstanding.

use std::{pin::pin, sync::Arc, time::Duration};

use bson::{Binary, Document, RawDocumentBuf, raw::cstr};
use bucket_core::{Record, write::Round};
use futures_util::future::{Either, join_all, select};
use mongodb::Database;
use tokio::time::{Instant, timeout_at};

use super::{
    Learnt, Writer,
    delivery::{Answer, Delivery, no_answer_in_time, no_reply_in_time, not_sent_in_time},
    selection::Selection,
    verdict,
};
use crate::error::{Context, Error, ErrorKind};

/// How much longer than its deadline a command is waited for, so that it is the one to say why.
pub(super) const GRACE: Duration = Duration::from_millis(250);
/// How much longer than its deadline the server may work on something, so that its reply comes within the grace.
const SERVER_GRACE: Duration = Duration::from_millis(100);

/// What became of a command: nothing is said of one that was called off, of which nothing was sent.
pub(super) type Sent = Result<Option<Answer>, Error>;

impl<T: Record> Writer<'_, T> {
    /// What these commands came to, or the first ones up to a failure.
    pub(super) async fn send(&mut self, rounds: &mut [Round]) -> Vec<Sent> {
        if self.session.is_some() {
            return self.send_in_session(rounds).await;
        }
        let collection = self.collection_uuid();
        let (selections, commands): (Vec<_>, Vec<_>) = rounds
            .iter_mut()
            .map(|round| {
                let command = Command {
                    database: self.buckets.database().clone(),
                    learnt: Arc::clone(self.buckets.learnt()),
                    write_concern: self.write_concern.clone(),
                    deadline: self.deadline,
                    selection: Selection::default(),
                    collection: collection.clone(),
                    context: self.context.clone(),
                };
                let selection = command.selection.clone();
                (selection, command.deliver(round.take_body()))
            })
            .unzip();
        let mut commands = join_all(commands);
        let Some(callers) = &mut self.callers else {
            return commands.await;
        };
        loop {
            // A caller that is gone takes its records out of what has not left.
            match select(&mut commands, pin!(callers.leave())).await {
                Either::Left((answers, _)) => return answers,
                Either::Right(_) => selections.iter().for_each(|selection| {
                    selection.call_off();
                }),
            }
        }
    }

    async fn send_in_session(&mut self, rounds: &mut [Round]) -> Vec<Sent> {
        let mut answers = Vec::with_capacity(rounds.len());
        let collection = self.collection_uuid();
        let Some(session) = &mut self.session else {
            return answers;
        };
        for round in rounds {
            let delivery = Delivery {
                database: self.buckets.database(),
                session,
                borrowed: true,
                write_concern: self.write_concern.as_deref(),
                deadline: self.deadline,
                selection: Selection::default(),
                unnumbered: self.buckets.learnt().unnumbered(),
                collection: collection.clone(),
                naming: self.buckets.learnt().footing.naming(),
                context: &self.context,
            };
            let delivered = timeout_at(self.deadline + GRACE, delivery.run(round.take_body()));
            let answer = delivered
                .await
                .unwrap_or_else(|_| Err(no_reply_in_time(&self.context)));
            let failed = answer.is_err();
            answers.push(answer.map(Some));
            if failed {
                break;
            }
        }
        answers
    }

    /// Runs a read in a task of its own, until the deadline.
    pub(super) async fn read(&self, mut command: RawDocumentBuf) -> Result<Document, ReadError> {
        let database = self.buckets.database().clone();
        let end = self.deadline + GRACE;
        command.append(cstr!("maxTimeMS"), time_limit(self.deadline));
        let task = tokio::spawn(timeout_at(end, async move {
            database.run_raw_command(command).await
        }));
        match task.await {
            Ok(Ok(Ok(reply))) => Ok(reply),
            Ok(Ok(Err(error))) if verdict::is_out_of_time(&error) => {
                Err(ReadError::Late(no_answer_in_time(&self.context)))
            }
            Ok(Ok(Err(error))) => Err(ReadError::Driver(error)),
            Ok(Err(_)) => Err(ReadError::Late(no_answer_in_time(&self.context))),
            Err(stopped) => Err(ReadError::Late(runtime_stopped(&stopped, &self.context))),
        }
    }

    /// The same in the caller's session, where nothing runs in a task of its own.
    pub(super) async fn read_in_session(
        &mut self,
        mut command: RawDocumentBuf,
    ) -> Result<Document, ReadError> {
        let Some(session) = &mut self.session else {
            return self.read(command).await;
        };
        command.append(cstr!("maxTimeMS"), time_limit(self.deadline));
        let run = self.buckets.database().run_raw_command(command);
        let run = run.session(&mut **session).into_future();
        match timeout_at(self.deadline + GRACE, run).await {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(error)) if verdict::is_out_of_time(&error) => {
                Err(ReadError::Late(no_answer_in_time(&self.context)))
            }
            Ok(Err(error)) => Err(ReadError::Driver(error)),
            Err(_) => Err(ReadError::Late(no_answer_in_time(&self.context))),
        }
    }
}

/// How long the server may work on what has this deadline, in milliseconds.
pub(super) fn time_limit(deadline: Instant) -> i64 {
    millis(left(deadline) + SERVER_GRACE)
}

/// How long the server may wait for other members until this deadline, in milliseconds.
pub(super) fn patience(deadline: Instant) -> i64 {
    // Zero would be without a limit.
    millis(left(deadline)).max(1)
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// Why a read gave nothing.
#[derive(Debug)]
pub(super) enum ReadError {
    Driver(mongodb::error::Error),
    Late(Error),
}

/// A command and all that its task needs.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) database: Database,
    pub(super) learnt: Arc<Learnt>,
    pub(super) write_concern: Option<RawDocumentBuf>,
    pub(super) deadline: Instant,
    pub(super) selection: Selection,
    /// The UUID of the collection that it is for.
    pub(super) collection: Option<Binary>,
    pub(super) context: Context,
}

/// Calls a command off when nobody waits for it any more, unless it may have left.
struct Waiting(Selection);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.call_off();
    }
}

impl Command {
    pub(super) async fn deliver(self, body: RawDocumentBuf) -> Sent {
        let waiting = Waiting(self.selection.clone());
        let context = self.context.clone();
        let ended = tokio::spawn(self.run(body)).await;
        drop(waiting);
        ended.unwrap_or_else(|stopped| Err(runtime_stopped(&stopped, &context)))
    }

    /// Until it is called off, or soon after the deadline.
    async fn run(self, body: RawDocumentBuf) -> Sent {
        let selection = self.selection.clone();
        let context = self.context.clone();
        let delivered = timeout_at(self.deadline + GRACE, self.run_to_its_end(body));
        match select(pin!(selection.called_off()), pin!(delivered)).await {
            Either::Left(_) => Ok(None),
            Either::Right((Ok(answer), _)) => answer.map(Some),
            Either::Right((Err(_), _)) if selection.call_off() => Err(not_sent_in_time(&context)),
            Either::Right((Err(_), _)) => Err(no_reply_in_time(&context)),
        }
    }

    async fn run_to_its_end(self, body: RawDocumentBuf) -> Result<Answer, Error> {
        let session = self.database.client().start_session();
        let session = session.causal_consistency(false).await;
        let mut session = session.map_err(|error| Error::read(error, &self.context))?;
        let delivery = Delivery {
            database: &self.database,
            session: &mut session,
            borrowed: false,
            write_concern: self.write_concern.as_deref(),
            deadline: self.deadline,
            selection: self.selection,
            unnumbered: self.learnt.unnumbered(),
            collection: self.collection,
            naming: self.learnt.footing.naming(),
            context: &self.context,
        };
        delivery.run(body).await
    }
}

fn runtime_stopped(stopped: &tokio::task::JoinError, context: &Context) -> Error {
    let message = format!("the runtime stopped: {stopped}");
    Error::new(ErrorKind::OutcomeUnknown { message }, context)
}
