//! `insert` and `insert_many` of documents with attributes, in numbered commands that are delivered like
//! those of buckets.

use std::{borrow::Borrow, iter::Fuse, time::Duration};

use bucket_core::{
    attribute::Attributed,
    write::{NewDocument, NewDocuments},
};
use mongodb::{ClientSession, bson::oid::ObjectId, options::WriteConcern};
use tokio::time::Instant;
use tracing::Instrument;

use super::{
    Documents,
    inserted_documents::{FailedDocument, InsertDocumentsReport},
    store_documents::{Stored, Storing, too_late},
};
use crate::{
    Error, ErrorKind, Result,
    action::ActionFuture,
    chunks::{fill, fill_beside},
    error::Context,
    trace,
    write_setters::write_setters,
    writer::Settings,
};

impl<T: Attributed> Documents<T> {
    /// Stores a document. A document without an `_id` receives one.
    ///
    /// The command is sent again until it gets a reply. Its transaction number makes the server store the document once.
    ///
    /// Settings: `session`, `write_concern`, `deadline`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Document`] if an attribute has another type than its field, or the document takes more
    /// than 16 MB; [`ErrorKind::DuplicateKey`] if a document with its `_id` exists;
    /// [`ErrorKind::OutcomeUnknown`] if it may be stored and there was no reply before the deadline.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Attributed, Documents, Result};
    /// async fn store<T: Attributed>(documents: &Documents<T>, document: &T) -> Result<()> {
    ///     documents.insert(document).await
    /// }
    /// ```
    pub fn insert<'a>(&'a self, document: &T) -> InsertDocument<'a, T> {
        InsertDocument {
            documents: self,
            document: NewDocument::encode(document, ObjectId::new).map_err(Box::new),
            session: None,
            settings: Settings::default(),
        }
    }

    /// Stores documents. A refused document does not stop the others, and the report has the outcome of each.
    /// Documents without an `_id` receive one.
    ///
    /// Documents are taken from the iterator and sent in commands of at most 5,000 documents or 12 MB; while
    /// one command is being sent, the next one is encoded. A command without a reply is sent again. Its
    /// transaction number makes the server store each document once.
    ///
    /// The deadline covers the whole call: all its commands, and the time that the iterator takes. Once it
    /// has passed, or an error has [ended the call](InsertDocumentsReport::stopped_by), no more documents are
    /// taken. Documents that were taken and not sent are among the failed ones. The deadline does not
    /// interrupt an iterator that waits for its next document. The default is 30 seconds, the most 20
    /// minutes: set more for calls with very many documents.
    ///
    /// In a transaction the first refused document ends the transaction, as the server requires. Then no
    /// document of the call is stored, and each has an error.
    ///
    /// Settings: `session`, `write_concern`, `deadline`.
    ///
    /// # Errors
    ///
    /// Only if the arguments are invalid. Everything else is in the report, document by document: see
    /// [`InsertDocumentsReport`] and its [`into_result`](InsertDocumentsReport::into_result).
    ///
    /// ```no_run
    /// # use bucket_mongo::{Attributed, Documents, Result};
    /// async fn store<T: Attributed>(documents: &Documents<T>, all: &[T]) -> Result<()> {
    ///     let report = documents.insert_many(all).await?;
    ///     println!("{} of {} stored", report.stored(), report.tried());
    ///     for failed in report.failed() {
    ///         eprintln!("document {}: {}", failed.index, failed.error);
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn insert_many<I>(&self, documents: I) -> InsertDocuments<'_, T, I>
    where
        I: IntoIterator,
        I::Item: Borrow<T>,
    {
        InsertDocuments {
            documents: self,
            all: documents,
            session: None,
            settings: Settings::default(),
        }
    }
}

/// An insert of one document; see [`Documents::insert`].
#[must_use = "nothing is stored until this is awaited"]
#[derive(Debug)]
pub struct InsertDocument<'a, T: Attributed> {
    documents: &'a Documents<T>,
    document: std::result::Result<NewDocument, Box<bucket_core::attribute::DocumentError>>,
    session: Option<&'a mut ClientSession>,
    settings: Settings,
}

/// An insert of many documents; see [`Documents::insert_many`].
#[must_use = "nothing is stored until this is awaited"]
#[derive(Debug)]
pub struct InsertDocuments<'a, T: Attributed, I> {
    documents: &'a Documents<T>,
    all: I,
    session: Option<&'a mut ClientSession>,
    settings: Settings,
}

impl<'a, T: Attributed> InsertDocument<'a, T> {
    write_setters! {
        /// Runs the operation in this session.
        session,
        /// Sets how long the write is retried, instead of 30 seconds.
        deadline,
        /// Sets the write concern instead of `{w: "majority", j: true}`. In a session the default is the session's.
        write_concern,
    }

    async fn run(self) -> Result<()> {
        let about = |id| Context::of_documents::<T>("insert", id);
        let document = self.document.map_err(|error| {
            let context = about(error.id().map(str::to_owned));
            Error::new(ErrorKind::Document(*error), &context)
        })?;
        let context = about(Some(document.id_text()));
        let mut storing = Storing::new(self.documents, self.session, &self.settings, context)?;
        let mut only = NewDocuments::default();
        // The first one always fits.
        let _ = only.push(0, document);
        let failed = storing.store(only).await.failed.pop();
        let documents = usize::from(failed.is_none());
        tracing::debug!(target: trace::WRITE, documents, "insert");
        failed.map_or(Ok(()), |failed| Err(failed.error))
    }
}

impl<'a, T: Attributed, I> InsertDocuments<'a, T, I>
where
    I: IntoIterator,
    I::Item: Borrow<T>,
{
    write_setters! {
        /// Runs the operation in this session.
        session,
        /// Sets how long the whole call may take, with all its commands and retries, instead of 30 seconds.
        deadline,
        /// Sets the write concern instead of `{w: "majority", j: true}`. In a session the default is the session's.
        write_concern,
    }
}

/// Takes documents from the iterator and encodes them.
struct Source<I> {
    all: Fuse<I>,
    /// After it no more documents are taken.
    deadline: Instant,
    /// The document that did not fit into the last command.
    left: Option<(usize, NewDocument)>,
    report: InsertDocumentsReport,
    context: Context,
}

impl<I: Iterator> Source<I> {
    /// A new command with the document that did not fit into the last one, if there is one.
    fn begin(&mut self) -> NewDocuments {
        let mut documents = NewDocuments::default();
        if let Some((index, document)) = self.left.take() {
            // The first one always fits.
            let _ = documents.push(index, document);
        }
        documents
    }

    /// Encodes the next document; returns whether the command takes more. A document that cannot be encoded
    /// goes straight to the report.
    fn take<T: Attributed>(&mut self, documents: &mut NewDocuments) -> bool
    where
        I::Item: Borrow<T>,
    {
        if Instant::now() >= self.deadline {
            return false;
        }
        let Some(document) = self.all.next() else {
            return false;
        };
        let index = self.report.next_index();
        match NewDocument::encode(document.borrow(), ObjectId::new) {
            Ok(document) => {
                let full = documents.push(index, document).err();
                self.left = full.map(|document| (index, document));
                self.left.is_none()
            }
            Err(error) => {
                let error = Error::new(ErrorKind::Document(error), &self.context);
                let id = None;
                self.report.fail([FailedDocument { index, id, error }]);
                true
            }
        }
    }

    /// Adds the outcome of the documents of a command.
    fn settle(&mut self, stored: Stored) {
        self.report.fail(stored.failed);
        if let Some(error) = stored.rolled_back {
            self.report.fail_others(&error);
        }
        if let Some(error) = stored.stopped_by {
            self.report.stop(error);
        }
    }

    /// Returns the report; the given documents are not sent any more.
    fn end(mut self, not_sent: &[NewDocuments]) -> InsertDocumentsReport {
        // The size hint of an iterator that has ended is 0.
        if Instant::now() >= self.deadline && self.all.size_hint().1 != Some(0) {
            self.report.stop(too_late(&self.context));
        }
        if let Some(error) = self.report.stopped_by().map(Error::not_sent) {
            for documents in not_sent {
                self.report
                    .fail(documents.indexes().map(|index| FailedDocument {
                        index,
                        id: documents.id(index),
                        error: error.clone(),
                    }));
            }
        }
        self.report.sort();
        self.report
    }
}

async fn store_all<T: Attributed, I: Iterator>(
    mut storing: Storing<'_, T>,
    mut source: Source<I>,
) -> InsertDocumentsReport
where
    I::Item: Borrow<T>,
{
    let mut next = source.begin();
    fill(|| source.take(&mut next)).await;
    while !next.is_empty() && source.report.stopped_by().is_none() {
        let store = storing.store(std::mem::take(&mut next));
        next = source.begin();
        let stored = fill_beside(
            store,
            |stored| stored.stopped_by.is_some(),
            || source.take(&mut next),
        );
        let stored = stored.await;
        source.settle(stored);
    }
    let left = source.begin();
    let report = source.end(&[next, left]);
    tracing::debug!(
        target: trace::WRITE,
        documents = report.stored(),
        failed = report.failed().len(),
        "insert_many",
    );
    report
}

impl<'a, T: Attributed> IntoFuture for InsertDocument<'a, T> {
    type Output = Result<()>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span =
            tracing::debug_span!(target: trace::WRITE, "insert", collection = T::SPEC.collection());
        Box::pin(self.run().instrument(span))
    }
}

impl<'a, T: Attributed, I> IntoFuture for InsertDocuments<'a, T, I>
where
    I: IntoIterator + Send + 'a,
    I::Item: Borrow<T>,
    I::IntoIter: Send + 'a,
{
    type Output = Result<InsertDocumentsReport>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span = tracing::debug_span!(target: trace::WRITE, "insert_many", collection = T::SPEC.collection());
        let context = Context::of_documents::<T>("insert_many", None);
        let all = self.all.into_iter().fuse();
        let (documents, session, settings) = (self.documents, self.session, self.settings);
        let stored = async move {
            let storing = Storing::new(documents, session, &settings, context.clone())?;
            let source = Source {
                all,
                deadline: storing.deadline(),
                left: None,
                report: InsertDocumentsReport::default(),
                context,
            };
            Ok(store_all(storing, source).await)
        };
        Box::pin(stored.instrument(span))
    }
}
