//! Sends the commands of a round: in parallel, or one after the other in the caller's session.
//!
//! Outside the caller's session each command runs in a task of its own: a caller that drops its future
//! half-way leaves no connection with half a message. A command that may have been sent by then is followed
//! to its outcome, until the deadline; one that was not sent is called off. Soon after the deadline the task
//! ends in any case and returns its connection: the driver closes one on which a reply is outstanding.

use std::{pin::pin, sync::Arc};

use bson::{RawDocumentBuf, Uuid};
use bucket_core::write::{Delivered, Dispatch};
use futures_util::future::{Either, join_all, select};
use mongodb::Database;
use tokio::time::Instant;

use super::{Writer, cache::SharedCache, delivery::Delivery, selection::Selection};
use crate::error::{Context, Error, NotKnown};

impl Writer<'_> {
    /// Sends these commands and returns their results, or those up to the first failure.
    pub(super) async fn send(&mut self, commands: Vec<Dispatch>) -> Vec<Delivered<Error>> {
        if self.session.is_some() {
            return self.send_in_session(commands).await;
        }
        let (selections, commands): (Vec<_>, Vec<_>) = commands
            .into_iter()
            .map(|dispatch| {
                let selection = Selection::default();
                let command = Command {
                    database: self.database.clone(),
                    cache: Arc::clone(self.cache),
                    write_concern: self.write_concern.clone(),
                    deadline: self.deadline,
                    selection: selection.clone(),
                    collection: dispatch.collection,
                    statements: dispatch.statements,
                    repeatable: false,
                    context: self.context.clone(),
                };
                (selection, command.deliver(dispatch.body))
            })
            .unzip();
        let mut commands = join_all(commands);
        let Some(callers) = &mut self.callers else {
            return commands.await;
        };
        loop {
            // A caller that has left takes its records out of commands that were not sent.
            match select(&mut commands, pin!(callers.leave())).await {
                Either::Left((ended, _)) => return ended,
                Either::Right(_) => selections.iter().for_each(|selection| {
                    selection.call_off();
                }),
            }
        }
    }

    async fn send_in_session(&mut self, commands: Vec<Dispatch>) -> Vec<Delivered<Error>> {
        let mut ended = Vec::with_capacity(commands.len());
        let Some(session) = &mut self.session else {
            return ended;
        };
        for dispatch in commands {
            let delivery = Delivery {
                database: self.database,
                session,
                borrowed: true,
                write_concern: self.write_concern.as_deref(),
                deadline: self.deadline,
                selection: Selection::default(),
                cache: self.cache,
                collection: dispatch.collection,
                statements: dispatch.statements,
                repeatable: false,
                context: &self.context,
            };
            let delivered = delivery.run(dispatch.body).await;
            let failed = !matches!(delivered, Delivered::Answer(_));
            ended.push(delivered);
            if failed {
                break;
            }
        }
        ended
    }
}

/// A command and everything that its task needs.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) database: Database,
    pub(super) cache: Arc<SharedCache>,
    pub(super) write_concern: Option<RawDocumentBuf>,
    pub(super) deadline: Instant,
    pub(super) selection: Selection,
    /// The UUID of its collection.
    pub(super) collection: Option<Uuid>,
    /// The number of its statements.
    pub(super) statements: usize,
    /// Whether a second execution changes nothing more.
    pub(super) repeatable: bool,
    pub(super) context: Context,
}

/// Calls a command off when nobody waits for it any more, unless it may have been sent.
struct Waiting(Selection);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.call_off();
    }
}

impl Command {
    pub(super) async fn deliver(self, body: RawDocumentBuf) -> Delivered<Error> {
        let waiting = Waiting(self.selection.clone());
        let context = self.context.clone();
        let ended = tokio::spawn(self.run(body)).await;
        drop(waiting);
        ended.unwrap_or_else(|stopped| Delivered::Failed {
            error: runtime_stopped(&stopped, &context),
            unknown: true,
            refusal: None,
        })
    }

    /// Runs until it is called off, or until soon after the deadline.
    async fn run(self, body: RawDocumentBuf) -> Delivered<Error> {
        let selection = self.selection.clone();
        match select(
            pin!(selection.called_off()),
            pin!(self.run_to_its_end(body)),
        )
        .await
        {
            Either::Left(_) => Delivered::CalledOff,
            Either::Right((delivered, _)) => delivered,
        }
    }

    async fn run_to_its_end(self, body: RawDocumentBuf) -> Delivered<Error> {
        let session = self.database.client().start_session();
        let mut session = match session.causal_consistency(false).await {
            Ok(session) => session,
            Err(error) => {
                return Delivered::Failed {
                    error: Error::read(error, &self.context),
                    unknown: false,
                    refusal: None,
                };
            }
        };
        let delivery = Delivery {
            database: &self.database,
            session: &mut session,
            borrowed: false,
            write_concern: self.write_concern.as_deref(),
            deadline: self.deadline,
            selection: self.selection,
            cache: &self.cache,
            collection: self.collection,
            statements: self.statements,
            repeatable: self.repeatable,
            context: &self.context,
        };
        delivery.run(body).await
    }
}

pub(super) fn runtime_stopped(stopped: &tokio::task::JoinError, context: &Context) -> Error {
    Error::not_known(NotKnown::Stopped(stopped), context)
}
