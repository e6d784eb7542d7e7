//! Delivers new documents and reads the outcome of each.

use bucket_core::{
    attribute::Attributed,
    write::{NewDocuments, StoredDocuments, blames_a_record, codes::NO_SUCH_TRANSACTION},
};
use futures_util::TryStreamExt;
use mongodb::{
    ClientSession,
    bson::{Bson, RawDocumentBuf, doc},
    options::{ReadConcern, ReadPreference, SelectionCriteria, WriteConcern},
};
use tokio::time::{Instant, timeout_at};

use super::{Documents, FailedDocument};
use crate::{
    Error, ErrorKind, Result,
    collection::simple_collation,
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
    /// `None` until the session was asked.
    in_transaction: Option<bool>,
    write_concern: Option<RawDocumentBuf>,
    deadline: Instant,
    context: Context,
}

/// The outcome of the documents of a command.
#[derive(Debug, Default)]
pub(super) struct Stored {
    /// Documents that are not stored, or may not be.
    pub(super) failed: Vec<FailedDocument>,
    /// Why no more documents are sent.
    pub(super) stopped_by: Option<Error>,
    /// Why the transaction was rolled back, and with it all other documents of the call.
    pub(super) rolled_back: Option<Error>,
}

impl<'a, T: Attributed> Storing<'a, T> {
    pub(super) fn new(
        documents: &'a Documents<T>,
        session: Option<&'a mut ClientSession>,
        settings: &Settings,
        context: Context,
    ) -> Result<Self> {
        let durable = durable();
        // In a session the session's write concern applies, unless the call sets one.
        let default: Option<&WriteConcern> = session.is_none().then_some(&durable);
        let concern = settings.write_concern.as_ref().or(default);
        let patience = settings.deadline.unwrap_or(DEADLINE);
        Ok(Self {
            documents,
            session,
            in_transaction: None,
            write_concern: raw_write_concern(concern, &context)?,
            deadline: Instant::now() + patience.min(LONGEST_DEADLINE),
            context,
        })
    }

    /// When the call ends.
    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Stores the documents of a command.
    pub(super) async fn store(&mut self, documents: NewDocuments) -> Stored {
        let mut stored = Stored::default();
        let in_transaction = match self.is_in_transaction().await {
            Ok(in_transaction) => in_transaction,
            Err(error) => {
                stored.stop(&error);
                false
            }
        };
        let mut left = vec![documents];
        while let Some(documents) = left.pop() {
            if Instant::now() >= self.deadline {
                stored.stop(&too_late(&self.context));
            }
            if let Some(error) = &stored.stopped_by {
                let error = error.not_sent();
                stored.fail(&documents, documents.indexes(), &error);
                continue;
            }
            match self.deliver(&documents).await {
                Ok(settled) if in_transaction && !settled.refused.is_empty() => {
                    self.end_transaction(&documents, settled, &mut stored);
                }
                Ok(settled) => self.settle(&documents, settled, &mut stored),
                Err(error) => match documents.halves() {
                    Some((first, second)) if !in_transaction && is_of_one(&error) => {
                        left.extend([second, first]);
                    }
                    halves => {
                        stored.fail(&documents, documents.indexes(), &error);
                        if in_transaction {
                            stored.rolled_back = Some(error.clone());
                        }
                        if halves.is_some() || in_transaction || !is_of_one(&error) {
                            stored.stop(&error);
                        }
                    }
                },
            }
        }
        stored
    }

    async fn is_in_transaction(&mut self) -> Result<bool> {
        let Some(session) = &mut self.session else {
            return Ok(false);
        };
        if let Some(known) = self.in_transaction {
            return Ok(known);
        }
        let known = is_in_transaction(session, self.deadline).await;
        let known = known.map_err(|_| not_sent_in_time(&self.context))?;
        self.in_transaction = Some(known);
        Ok(known)
    }

    async fn deliver(&mut self, documents: &NewDocuments) -> Result<StoredDocuments> {
        let channel = Channel {
            database: self.documents.database(),
            cache: &self.documents.cache,
            write_concern: self.write_concern.as_deref(),
            deadline: self.deadline,
            context: &self.context,
        };
        let command = documents.command(T::SPEC.collection());
        let session = self.session.as_deref_mut();
        let answer = channel.deliver(session, command, documents.len()).await?;
        let mut settled = documents.settle(&answer);
        if !settled.doubtful.is_empty() {
            if let Some(found) = self.look(documents, &settled).await {
                documents.saw(&mut settled, &found);
            } else {
                let doubtful = settled.doubtful.drain(..).map(|(index, _)| index);
                settled.unknown.extend(doubtful);
            }
        }
        Ok(settled)
    }

    /// Finds which `_id`s of the doubtful documents exist; `None` if there is no answer before the deadline.
    /// It runs outside the session: committed documents are visible to everyone.
    async fn look(&self, documents: &NewDocuments, settled: &StoredDocuments) -> Option<Vec<Bson>> {
        let indexes = settled.doubtful.iter().map(|(index, _)| *index);
        let ids: Vec<Bson> = indexes.filter_map(|index| documents.id(index)).collect();
        let collection = self.documents.stored();
        // In one batch, so that no cursor stays open: a reply has room for all `_id`s that a command refuses.
        let most = i64::try_from(ids.len()).ok()?;
        let find = collection
            .find(doc! { "_id": { "$in": ids } })
            .projection(doc! { "_id": 1 })
            .limit(-most)
            .collation(simple_collation())
            .read_concern(ReadConcern::local())
            .selection_criteria(SelectionCriteria::ReadPreference(ReadPreference::Primary))
            .max_time(self.deadline.saturating_duration_since(Instant::now()));
        let found = async { find.await?.try_collect::<Vec<_>>().await };
        let found = timeout_at(self.deadline, found).await.ok()?.ok()?;
        let id = |found: &RawDocumentBuf| Bson::try_from(found.get("_id").ok()??).ok();
        found.iter().map(id).collect()
    }

    fn settle(&self, documents: &NewDocuments, settled: StoredDocuments, stored: &mut Stored) {
        for (index, failure) in settled.refused {
            let error = Error::refused_document(&failure, &self.context);
            stored.fail(documents, [index], &error);
        }
        if !settled.unknown.is_empty() {
            let error = Error::not_known(NotKnown::LostTry, &self.context);
            stored.fail(documents, settled.unknown, &error);
        }
        if let Some(failure) = &settled.write_concern_error {
            let error = Error::not_known(NotKnown::Concern(failure), &self.context);
            stored.fail(documents, settled.stored, &error);
            stored.stop(&error);
        }
    }

    /// Records that the server ended the transaction because it refused a document.
    fn end_transaction(
        &self,
        documents: &NewDocuments,
        settled: StoredDocuments,
        stored: &mut Stored,
    ) {
        let refused = settled.refused.first().map(|(index, _)| *index);
        let message = format!(
            "the transaction has ended, because the server refused document {}",
            refused.unwrap_or_default()
        );
        let kind = ErrorKind::Server {
            code: NO_SUCH_TRANSACTION,
            message,
        };
        let ended = Error::new(kind, &self.context);
        for (index, failure) in settled.refused {
            let error = Error::refused_document(&failure, &self.context);
            stored.fail(documents, [index], &error);
        }
        stored.rolled_back = Some(ended.clone());
        stored.stop(&ended);
    }
}

impl Stored {
    /// Only the first reason is kept.
    fn stop(&mut self, error: &Error) {
        self.stopped_by.get_or_insert_with(|| error.clone());
    }

    fn fail(
        &mut self,
        documents: &NewDocuments,
        indexes: impl IntoIterator<Item = usize>,
        error: &Error,
    ) {
        let failed = indexes.into_iter().map(|index| FailedDocument {
            index,
            id: documents.id(index),
            error: error.clone(),
        });
        self.failed.extend(failed);
    }
}

/// Whether a single document may have made the server refuse the whole command.
fn is_of_one(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Server { code, .. } if blames_a_record(*code))
}

/// The error of documents that are not sent before the deadline.
pub(super) fn too_late(context: &Context) -> Error {
    let message = "not sent before the deadline of the call".to_owned();
    Error::new(ErrorKind::Unreachable { message }, context)
}
