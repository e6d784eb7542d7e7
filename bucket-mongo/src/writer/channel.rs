//! Commands that are no rounds of buckets, delivered in the same way.

use std::sync::Arc;

use bson::{Document, RawDocument, RawDocumentBuf};
use bucket_core::write::Doubt;
use mongodb::{ClientSession, Database};
use tokio::time::{Instant, timeout_at};

use super::{
    Learnt,
    delivery::{Delivery, no_reply_in_time, not_sent_in_time},
    selection::Selection,
    send::{Command, GRACE},
};
use crate::error::{Context, Error};

/// How commands get to the server.
#[derive(Debug)]
pub(crate) struct Channel<'a> {
    pub(crate) database: &'a Database,
    pub(crate) learnt: &'a Arc<Learnt>,
    pub(crate) write_concern: Option<&'a RawDocument>,
    pub(crate) deadline: Instant,
    pub(crate) context: &'a Context,
}

impl Channel<'_> {
    /// Sends a command until its outcome is known: in the caller's session, or in a task of its own. Gives the
    /// reply and what that leaves open.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown) if something of it may be applied, else
    /// the reason why nothing is.
    pub(crate) async fn deliver(
        &self,
        session: Option<&mut ClientSession>,
        body: RawDocumentBuf,
    ) -> Result<(Document, Doubt), Error> {
        let answer = if let Some(session) = session {
            let delivery = Delivery {
                database: self.database,
                session,
                borrowed: true,
                write_concern: self.write_concern,
                deadline: self.deadline,
                selection: Selection::default(),
                unnumbered: self.learnt.unnumbered(),
                collection: None,
                naming: self.learnt.footing.naming(),
                context: self.context,
            };
            let answer = timeout_at(self.deadline + GRACE, delivery.run(body)).await;
            answer.unwrap_or_else(|_| Err(no_reply_in_time(self.context)))?
        } else {
            let command = Command {
                database: self.database.clone(),
                learnt: Arc::clone(self.learnt),
                write_concern: self.write_concern.map(RawDocument::to_owned),
                deadline: self.deadline,
                selection: Selection::default(),
                collection: None,
                context: self.context.clone(),
            };
            // Nobody else calls it off.
            let answer = command.deliver(body).await?;
            answer.ok_or_else(|| not_sent_in_time(self.context))?
        };
        let doubt = answer.trust.doubt();
        Ok((answer.reply, doubt))
    }
}
