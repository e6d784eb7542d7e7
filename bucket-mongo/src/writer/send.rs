//! The commands of a round on their way: side by side, or one after the other in the caller's
//! session.
//!
//! Outside of the caller's session each command runs in a task of its own: a caller that drops its
//! future half-way leaves no connection with half a message, and what was sent is seen through.

use std::{sync::Arc, time::Duration};

use bson::{Document, RawDocumentBuf};
use bucket_core::{Record, write::Round};
use futures_util::future::join_all;
use mongodb::Database;
use tokio::time::{Instant, timeout_at};

use super::{
    Learnt, Writer,
    delivery::{Answer, Delivery, no_answer_in_time, no_reply_in_time, not_sent_in_time},
    selection::Selection,
};
use crate::error::{Context, Error, ErrorKind};

/// How much longer than its deadline a command is waited for, so that it is the one to say why.
const GRACE: Duration = Duration::from_millis(250);

impl<T: Record> Writer<'_, T> {
    /// What these commands came to, or the first ones up to a failure.
    pub(super) async fn send(&mut self, rounds: &mut [Round]) -> Vec<Result<Answer, Error>> {
        if self.session.is_some() {
            return self.send_in_session(rounds).await;
        }
        let commands = rounds.iter_mut().map(|round| {
            let command = Command {
                database: self.buckets.database().clone(),
                learnt: Arc::clone(self.buckets.learnt()),
                deadline: self.deadline,
                selection: Selection::default(),
                context: self.context.clone(),
            };
            command.deliver(round.take_body())
        });
        join_all(commands).await
    }

    async fn send_in_session(&mut self, rounds: &mut [Round]) -> Vec<Result<Answer, Error>> {
        let mut answers = Vec::with_capacity(rounds.len());
        let Some(session) = &mut self.session else {
            return answers;
        };
        for round in rounds {
            let delivery = Delivery {
                database: self.buckets.database(),
                session,
                borrowed: true,
                deadline: self.deadline,
                selection: Selection::default(),
                unnumbered: self.buckets.learnt().unnumbered(),
                context: &self.context,
            };
            let answer = delivery.run(round.take_body()).await;
            let failed = answer.is_err();
            answers.push(answer);
            if failed {
                break;
            }
        }
        answers
    }

    /// Runs a read in a task of its own, until the deadline.
    pub(super) async fn read(&self, command: RawDocumentBuf) -> Result<Document, ReadError> {
        let database = self.buckets.database().clone();
        let task = tokio::spawn(async move { database.run_raw_command(command).await });
        match timeout_at(self.deadline + GRACE, task).await {
            Ok(Ok(reply)) => reply.map_err(ReadError::Driver),
            Ok(Err(stopped)) => Err(ReadError::Late(runtime_stopped(&stopped, &self.context))),
            Err(_) => Err(ReadError::Late(no_answer_in_time(&self.context))),
        }
    }
}

/// Why a read gave nothing.
#[derive(Debug)]
pub(super) enum ReadError {
    Driver(mongodb::error::Error),
    Late(Error),
}

/// A command and all that its task needs.
#[derive(Debug)]
struct Command {
    database: Database,
    learnt: Arc<Learnt>,
    deadline: Instant,
    selection: Selection,
    context: Context,
}

impl Command {
    async fn deliver(self, body: RawDocumentBuf) -> Result<Answer, Error> {
        let deadline = self.deadline + GRACE;
        let selection = self.selection.clone();
        let context = self.context.clone();
        let task = tokio::spawn(self.run(body));
        match timeout_at(deadline, task).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(stopped)) => Err(runtime_stopped(&stopped, &context)),
            Err(_) if selection.call_off() => Err(not_sent_in_time(&context)),
            Err(_) => Err(no_reply_in_time(&context)),
        }
    }

    async fn run(self, body: RawDocumentBuf) -> Result<Answer, Error> {
        let session = self.database.client().start_session();
        let session = session.causal_consistency(false).await;
        let mut session = session.map_err(|error| Error::read(error, &self.context))?;
        let delivery = Delivery {
            database: &self.database,
            session: &mut session,
            borrowed: false,
            deadline: self.deadline,
            selection: self.selection,
            unnumbered: self.learnt.unnumbered(),
            context: &self.context,
        };
        delivery.run(body).await
    }
}

fn runtime_stopped(stopped: &tokio::task::JoinError, context: &Context) -> Error {
    let message = format!("the runtime stopped: {stopped}");
    Error::new(ErrorKind::OutcomeUnknown { message }, context)
}
