//! Delivers new documents and reads what the server says of each.

use std::time::Duration;

use bucket_core::{
    attribute::{Attributed, DocumentError},
    write::{NewDocuments, StoredDocuments, blames_a_record},
};
use mongodb::{ClientSession, bson::RawDocumentBuf, options::WriteConcern};
use tokio::time::{Instant, sleep};

use super::{Documents, InsertedDocuments};
use crate::{
    Error, ErrorKind, Result,
    error::Context,
    writer::{Channel, Settings, raw_write_concern},
};

/// What a transaction is that the server has ended.
const NO_SUCH_TRANSACTION: i32 = 251;
/// The pause before a command without a number is sent again.
const PAUSE: Duration = Duration::from_millis(100);

/// Stores the documents of one call.
pub(super) struct Storing<'a, T: Attributed> {
    documents: &'a Documents<T>,
    session: Option<&'a mut ClientSession>,
    write_concern: Option<RawDocumentBuf>,
    patience: Duration,
    context: Context,
}

impl<'a, T: Attributed> Storing<'a, T> {
    pub(super) fn new(
        documents: &'a Documents<T>,
        session: Option<&'a mut ClientSession>,
        settings: &Settings,
        context: Context,
    ) -> Result<Self> {
        let durable = crate::buckets::durable();
        // In a session the session's counts, unless the call has one of its own.
        let default: Option<&WriteConcern> = session.is_none().then_some(&durable);
        let concern = settings.write_concern.as_ref().or(default);
        Ok(Self {
            documents,
            session,
            write_concern: raw_write_concern(concern, &context)?,
            patience: settings.deadline.unwrap_or(crate::buckets::DEADLINE),
            context,
        })
    }

    /// Stores the documents of a command. The report says what became of them.
    pub(super) async fn store(&mut self, documents: NewDocuments, report: &mut InsertedDocuments) {
        let in_transaction = match &mut self.session {
            Some(session) => crate::writer::is_in_transaction(session).await,
            None => false,
        };
        let deadline = Instant::now() + self.patience.min(crate::writer::LONGEST_DEADLINE);
        let mut left = vec![documents];
        while let Some(documents) = left.pop() {
            if report.stopped_by().is_some() {
                give_up(&documents, report);
                continue;
            }
            match self.deliver(&documents, deadline).await {
                Ok(settled) if in_transaction && !settled.refused.is_empty() => {
                    self.end_transaction(&documents, settled, report);
                }
                Ok(settled) => self.settle(&documents, settled, report),
                Err(error) => match documents.halves() {
                    Some((first, second)) if !in_transaction && is_of_one(&error) => {
                        left.extend([second, first]);
                    }
                    halves => {
                        fail(&documents, documents.indexes(), &error, report);
                        if in_transaction {
                            report.fail_others(&error);
                        }
                        if halves.is_some() || !is_of_one(&error) {
                            report.stop(&error);
                        }
                    }
                },
            }
        }
    }

    async fn deliver(
        &mut self,
        documents: &NewDocuments,
        deadline: Instant,
    ) -> Result<StoredDocuments> {
        let command = documents.command(T::SPEC.collection());
        let channel = Channel {
            database: self.documents.database(),
            learnt: &self.documents.learnt,
            write_concern: self.write_concern.as_deref(),
            deadline,
            context: &self.context,
        };
        let mut was_lost = false;
        loop {
            let session = self.session.as_deref_mut();
            let borrowed = session.is_some();
            let statements = documents.indexes().count();
            match channel.deliver(session, command.clone(), statements).await {
                // Some were not inserted, which the server takes for insertions of before.
                Ok(answer) if !answer.taken.is_empty() => was_lost = true,
                Ok(answer) => return Ok(documents.settle(&answer.reply, answer.doubt, was_lost)),
                // Where it has no number, the server knows a repetition by its `_id`s.
                Err(error)
                    if error.is_outcome_unknown()
                        && !borrowed
                        && Instant::now() + PAUSE < deadline =>
                {
                    was_lost = true;
                    sleep(PAUSE).await;
                }
                Err(error) if was_lost => return Err(error.after_a_lost_try(&self.context)),
                Err(error) => return Err(error),
            }
        }
    }

    fn settle(
        &self,
        documents: &NewDocuments,
        settled: StoredDocuments,
        report: &mut InsertedDocuments,
    ) {
        for (index, failure) in settled.refused {
            let error = Error::refused_document(&failure, &self.context);
            report.fail(index, documents.id(index), error);
        }
        if !settled.unknown.is_empty() {
            let message = "a try whose connection was lost may have stored it";
            let error = Error::not_known(message, &self.context);
            fail(documents, settled.unknown, &error, report);
        }
        if let Some(failure) = &settled.write_concern_error {
            let error = Error::concern_not_met(failure, &self.context);
            fail(documents, settled.stored, &error, report);
            report.stop(&error);
        }
    }

    /// The server has ended the transaction because it refused a document.
    fn end_transaction(
        &self,
        documents: &NewDocuments,
        settled: StoredDocuments,
        report: &mut InsertedDocuments,
    ) {
        let refused = settled.refused.first().map(|(index, _)| *index);
        let message = format!(
            "the transaction has ended, because document {} was refused",
            refused.unwrap_or_default()
        );
        let kind = ErrorKind::Server {
            code: NO_SUCH_TRANSACTION,
            message,
        };
        let ended = Error::new(kind, &self.context);
        for (index, failure) in settled.refused {
            let error = Error::refused_document(&failure, &self.context);
            report.fail(index, documents.id(index), error);
        }
        report.fail_others(&ended);
        report.stop(&ended);
    }
}

/// None of these is sent any more.
pub(super) fn give_up(documents: &NewDocuments, report: &mut InsertedDocuments) {
    if let Some(error) = report.stopped_by().map(Error::not_sent) {
        fail(documents, documents.indexes(), &error, report);
    }
}

/// Fails these documents.
fn fail(
    documents: &NewDocuments,
    indexes: impl IntoIterator<Item = usize>,
    error: &Error,
    report: &mut InsertedDocuments,
) {
    for index in indexes {
        report.fail(index, documents.id(index), error.clone());
    }
}

/// Whether one document may be the reason why the server refused the whole command.
fn is_of_one(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Server { code, .. } if blames_a_record(*code))
}

/// The error of a document that cannot be encoded.
pub(super) fn not_encoded(error: DocumentError, context: &Context) -> Error {
    Error::new(ErrorKind::Document(error), context)
}
