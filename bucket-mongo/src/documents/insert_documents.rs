//! `insert` and `insert_many` of documents with attributes: in numbered commands, delivered as those of
//! buckets are.

use std::{borrow::Borrow, iter::Fuse, time::Duration};

use bucket_core::{
    attribute::Attributed,
    write::{NewDocument, NewDocuments},
};
use futures_util::future::join;
use mongodb::{ClientSession, bson::oid::ObjectId, options::WriteConcern};
use tokio::task::yield_now;
use tracing::Instrument;

use super::{
    Documents,
    inserted_documents::InsertedDocuments,
    store_documents::{Storing, give_up, not_encoded},
};
use crate::{
    Error, ErrorKind, Result, action::ActionFuture, error::Context, trace,
    write_setters::write_setters, writer::Settings,
};

/// Documents that are encoded in a row while others wait.
const BREATHER: usize = 1_024;

impl<T: Attributed> Documents<T> {
    /// Stores a document. One without an `_id` gets one.
    ///
    /// The command is sent again until it has a reply, under a number by which the server stores it once.
    ///
    /// Settings: `session`, `write_concern`, `deadline`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Document`] if an attribute is of another type than its field says, or the document
    /// takes more than 16 MB, [`ErrorKind::DuplicateKey`] if a document of its `_id` is there,
    /// [`ErrorKind::OutcomeUnknown`] if it may be stored and there was no reply by the deadline.
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

    /// Stores documents. One that is refused does not keep the others from being stored, and the report
    /// says of each what became of it. Those without an `_id` get one.
    ///
    /// They are taken from the iterator and sent in commands of at most 5,000 documents or 12 MB; while one
    /// is on its way the next one is encoded. A command without a reply is sent again, under a number by which
    /// the server stores each document once. The deadline covers the whole call, however many commands it
    /// takes. Documents that are not sent by then are not stored. The time that the iterator itself takes is not
    /// bounded: a command that has begun is filled, and one more may be. A
    /// call with very many documents needs more than the default of 30 seconds; the most is 20 minutes.
    ///
    /// In a transaction the first refused document ends the transaction, as the server demands it: no
    /// document of the call is stored then, and each has an error.
    ///
    /// Settings: `session`, `write_concern`, `deadline`.
    ///
    /// # Errors
    ///
    /// None of the documents is to blame: the arguments make no sense. Everything else is in the report,
    /// document by document: see [`InsertedDocuments`] and its
    /// [`into_result`](InsertedDocuments::into_result).
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

/// A document to be stored; see [`Documents::insert`].
#[must_use = "nothing is stored until this is awaited"]
#[derive(Debug)]
pub struct InsertDocument<'a, T: Attributed> {
    documents: &'a Documents<T>,
    document: std::result::Result<NewDocument, Box<bucket_core::attribute::DocumentError>>,
    session: Option<&'a mut ClientSession>,
    settings: Settings,
}

/// Documents to be stored; see [`Documents::insert_many`].
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
        /// Runs in this session.
        session,
        /// How long it goes on being tried, instead of 30 seconds.
        deadline,
        /// This write concern instead of `{w: "majority", j: true}`. In a session the default is the session's.
        write_concern,
    }

    async fn run(self) -> Result<()> {
        let context = Context::of_documents::<T>("insert", None);
        let document = self
            .document
            .map_err(|error| Error::new(ErrorKind::Document(*error), &context))?;
        let mut storing = Storing::new(self.documents, self.session, &self.settings, context)?;
        let mut only = NewDocuments::default();
        // The first one always fits.
        let _ = only.push(0, document);
        let mut report = InsertedDocuments::default();
        report.next_index();
        storing.store(only, &mut report).await;
        tracing::debug!(target: trace::WRITE, documents = report.stored(), "insert");
        report.into_result().map(drop)
    }
}

impl<'a, T: Attributed, I> InsertDocuments<'a, T, I>
where
    I: IntoIterator,
    I::Item: Borrow<T>,
{
    write_setters! {
        /// Runs in this session.
        session,
        /// How long the whole call goes on, with all its commands and their tries, instead of 30 seconds.
        deadline,
        /// This write concern instead of `{w: "majority", j: true}`. In a session the default is the session's.
        write_concern,
    }
}

/// Takes documents from the iterator and encodes them.
struct Source<I> {
    all: Fuse<I>,
    /// One that did not fit into the last command.
    left: Option<(usize, NewDocument)>,
    taken: usize,
    context: Context,
}

/// The documents of the next command, and those before its end that cannot be encoded.
#[derive(Default)]
struct Next {
    documents: NewDocuments,
    refused: Vec<(usize, Error)>,
    /// How many were taken from the iterator by then, but for one that is left.
    taken: usize,
}

impl<I: Iterator> Source<I> {
    async fn next<T: Attributed>(&mut self) -> Next
    where
        I::Item: Borrow<T>,
    {
        let mut next = Next::default();
        while self.fill::<T>(&mut next) {
            // The command before is to be sent meanwhile.
            yield_now().await;
        }
        next.taken = self.taken - usize::from(self.left.is_some());
        next
    }

    /// Encodes some documents; whether the command takes more.
    fn fill<T: Attributed>(&mut self, next: &mut Next) -> bool
    where
        I::Item: Borrow<T>,
    {
        if let Some((index, document)) = self.left.take() {
            // The first one always fits.
            let _ = next.documents.push(index, document);
        }
        for _ in 0..BREATHER {
            let Some(document) = self.all.next() else {
                return false;
            };
            let index = self.taken;
            self.taken += 1;
            let document: &T = document.borrow();
            match NewDocument::encode(document, ObjectId::new) {
                Ok(document) => {
                    if let Err(document) = next.documents.push(index, document) {
                        self.left = Some((index, document));
                        return false;
                    }
                }
                Err(error) => next
                    .refused
                    .push((index, not_encoded(error, &self.context))),
            }
        }
        true
    }
}

async fn store_all<T: Attributed, I: Iterator>(
    mut storing: Storing<'_, T>,
    mut source: Source<I>,
) -> InsertedDocuments
where
    I::Item: Borrow<T>,
{
    let mut report = InsertedDocuments::default();
    let mut next = source.next::<T>().await;
    loop {
        report.took(next.taken, next.refused);
        if next.documents.is_empty() || report.stopped_by().is_some() {
            give_up(&next.documents, &mut report);
            break;
        }
        let store = storing.store(next.documents, &mut report);
        ((), next) = join(store, source.next::<T>()).await;
    }
    report.sort();
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
    type Output = Result<InsertedDocuments>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span = tracing::debug_span!(target: trace::WRITE, "insert_many", collection = T::SPEC.collection());
        let context = Context::of_documents::<T>("insert_many", None);
        let source = Source {
            all: self.all.into_iter().fuse(),
            left: None,
            taken: 0,
            context: context.clone(),
        };
        let (documents, session, settings) = (self.documents, self.session, self.settings);
        let stored = async move {
            let storing = Storing::new(documents, session, &settings, context)?;
            Ok(store_all(storing, source).await)
        };
        Box::pin(stored.instrument(span))
    }
}
