//! Delivers new documents and reads what the server says of each.

use bucket_core::{
    attribute::{Attributed, DocumentError},
    write::{NewDocuments, StoredDocuments, blames_a_record, codes::NO_SUCH_TRANSACTION},
};
use mongodb::{ClientSession, bson::RawDocumentBuf, options::WriteConcern};
use tokio::time::Instant;

use super::{Documents, InsertedDocuments};
use crate::{
    Error, ErrorKind, Result,
    error::{Context, NotKnown},
    write_concern::{durable, raw_write_concern},
    writer::{
        Channel, LONGEST_DEADLINE, Settings, deadline::DEADLINE, is_in_transaction,
        not_sent_in_time,
    },
};

/// Stores the documents of one call.
pub(super) struct Storing<'a, T: Attributed> {
    documents: &'a Documents<T>,
    session: Option<&'a mut ClientSession>,
    write_concern: Option<RawDocumentBuf>,
    deadline: Instant,
    context: Context,
}

impl<'a, T: Attributed> Storing<'a, T> {
    pub(super) fn new(
        documents: &'a Documents<T>,
        session: Option<&'a mut ClientSession>,
        settings: &Settings,
        context: Context,
    ) -> Result<Self> {
        let durable = durable();
        // In a session the session's counts, unless the call has one of its own.
        let default: Option<&WriteConcern> = session.is_none().then_some(&durable);
        let concern = settings.write_concern.as_ref().or(default);
        let patience = settings.deadline.unwrap_or(DEADLINE);
        Ok(Self {
            documents,
            session,
            write_concern: raw_write_concern(concern, &context)?,
            deadline: Instant::now() + patience.min(LONGEST_DEADLINE),
            context,
        })
    }

    /// Stores the documents of a command. The report says what became of them.
    pub(super) async fn store(&mut self, documents: NewDocuments, report: &mut InsertedDocuments) {
        let in_transaction = match &mut self.session {
            Some(session) => is_in_transaction(session, self.deadline).await,
            None => Ok(false),
        };
        let in_transaction = in_transaction.unwrap_or_else(|_| {
            report.stop(&not_sent_in_time(&self.context));
            false
        });
        let mut left = vec![documents];
        while let Some(documents) = left.pop() {
            if Instant::now() >= self.deadline {
                report.stop(&too_late(&self.context));
            }
            if report.stopped_by().is_some() {
                give_up(&documents, report);
                continue;
            }
            match self.deliver(&documents).await {
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

    async fn deliver(&mut self, documents: &NewDocuments) -> Result<StoredDocuments> {
        let channel = Channel {
            database: self.documents.database(),
            learnt: &self.documents.learnt,
            write_concern: self.write_concern.as_deref(),
            deadline: self.deadline,
            context: &self.context,
        };
        let command = documents.command(T::SPEC.collection());
        let session = self.session.as_deref_mut();
        let answer = channel.deliver(session, command, documents.len()).await?;
        // After a try that the server does not know as one of this command, only the `_id`s tell.
        Ok(documents.settle(&answer.reply, answer.doubt, answer.repeated))
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
            let error = Error::not_known(NotKnown::LostTry, &self.context);
            fail(documents, settled.unknown, &error, report);
        }
        if let Some(failure) = &settled.write_concern_error {
            let error = Error::not_known(NotKnown::Concern(failure), &self.context);
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

/// The error of documents that are not sent before the deadline.
fn too_late(context: &Context) -> Error {
    let message = "it was not sent before the deadline of the call".to_owned();
    Error::new(ErrorKind::Unreachable { message }, context)
}

/// The error of a document that cannot be encoded.
pub(super) fn not_encoded(error: DocumentError, context: &Context) -> Error {
    Error::new(ErrorKind::Document(error), context)
}
