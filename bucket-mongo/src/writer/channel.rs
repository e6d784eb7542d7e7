//! Commands other than rounds of buckets, delivered in the same way.

use std::sync::Arc;

use bson::{RawDocument, RawDocumentBuf};
use bucket_core::write::{Answer, Delivered};
use mongodb::{ClientSession, Database};
use tokio::time::Instant;

use super::{
    cache::SharedCache,
    delivery::{Delivery, not_sent_in_time},
    selection::Selection,
    send::Command,
    session::refuse_snapshot,
};
use crate::error::{Context, Error};

/// How commands are sent to the server.
#[derive(Debug)]
pub(crate) struct Channel<'a> {
    pub(crate) database: &'a Database,
    pub(crate) cache: &'a Arc<SharedCache>,
    pub(crate) write_concern: Option<&'a RawDocument>,
    pub(crate) deadline: Instant,
    pub(crate) context: &'a Context,
}

impl Channel<'_> {
    /// Sends a command with this number of statements until its outcome is known: in the caller's session, or
    /// in a task of its own. A second execution of the command must change nothing more, as with an insert of
    /// given `_id`s: it is sent again even if the server takes no numbers.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown) if part of it may be applied, else the
    /// reason why nothing is.
    pub(crate) async fn deliver(
        &self,
        session: Option<&mut ClientSession>,
        body: RawDocumentBuf,
        statements: usize,
    ) -> Result<Answer, Error> {
        let selection = Selection::default();
        let delivered = if let Some(session) = session {
            refuse_snapshot(session, self.context).await?;
            let delivery = Delivery {
                database: self.database,
                session,
                borrowed: true,
                write_concern: self.write_concern,
                deadline: self.deadline,
                selection,
                cache: self.cache,
                collection: None,
                statements,
                repeatable: true,
                context: self.context,
            };
            delivery.run(body).await
        } else {
            let command = Command {
                database: self.database.clone(),
                cache: Arc::clone(self.cache),
                write_concern: self.write_concern.map(RawDocument::to_owned),
                deadline: self.deadline,
                selection,
                collection: None,
                statements,
                repeatable: true,
                context: self.context.clone(),
            };
            command.deliver(body).await
        };
        match delivered {
            Delivered::Answer(answer) => Ok(answer),
            Delivered::Failed { error, .. } => Err(error),
            // No one else calls it off.
            Delivered::CalledOff => Err(not_sent_in_time(self.context)),
        }
    }
}
