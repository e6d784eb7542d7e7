//! `insert` and `insert_many` of documents with attributes.

use bucket_core::attribute::{Attributed, encode};
use mongodb::{ClientSession, bson::RawDocumentBuf};
use tracing::Instrument;

use super::Documents;
use crate::{Error, ErrorKind, Result, action::ActionFuture, error::Context, trace};

impl<T: Attributed> Documents<T> {
    /// Stores a document.
    ///
    /// Settings: `session`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Document`] if an attribute is of another type than its field says,
    /// [`ErrorKind::DuplicateKey`] if a document of its `_id` is there,
    /// [`ErrorKind::OutcomeUnknown`] if the connection was lost meanwhile.
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
            stored: encoded("insert", std::slice::from_ref(document)),
            session: None,
        }
    }

    /// Stores documents, in their order; the first that is refused ends it.
    ///
    /// Settings: `session`.
    ///
    /// # Errors
    ///
    /// As [`insert`](Self::insert); documents before the one that the server refuses are stored. If
    /// one cannot be encoded nothing is sent.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Attributed, Documents, Result};
    /// async fn store<T: Attributed>(documents: &Documents<T>, all: &[T]) -> Result<u64> {
    ///     documents.insert_many(all).await
    /// }
    /// ```
    pub fn insert_many<'a>(&'a self, documents: &[T]) -> InsertDocuments<'a, T> {
        InsertDocuments {
            documents: self,
            stored: encoded("insert_many", documents),
            session: None,
        }
    }
}

/// A document to be stored; see [`Documents::insert`].
#[must_use = "nothing is stored until this is awaited"]
#[derive(Debug)]
pub struct InsertDocument<'a, T: Attributed> {
    documents: &'a Documents<T>,
    stored: Result<Vec<RawDocumentBuf>>,
    session: Option<&'a mut ClientSession>,
}

/// Documents to be stored; see [`Documents::insert_many`].
#[must_use = "nothing is stored until this is awaited"]
#[derive(Debug)]
pub struct InsertDocuments<'a, T: Attributed> {
    documents: &'a Documents<T>,
    stored: Result<Vec<RawDocumentBuf>>,
    session: Option<&'a mut ClientSession>,
}

/// The stored forms, before anything is sent.
fn encoded<T: Attributed>(operation: &'static str, documents: &[T]) -> Result<Vec<RawDocumentBuf>> {
    let stored = documents.iter().map(|document| {
        encode(document).map_err(|error| {
            let context = Context::of_documents::<T>(operation, None);
            Error::new(ErrorKind::Document(error), &context)
        })
    });
    stored.collect()
}

async fn store<T: Attributed>(
    operation: &'static str,
    documents: &Documents<T>,
    stored: Result<Vec<RawDocumentBuf>>,
    session: Option<&mut ClientSession>,
) -> Result<u64> {
    let stored = stored?;
    if stored.is_empty() {
        return Ok(0);
    }
    let number = stored.len();
    let collection = documents.stored();
    let insert = collection.insert_many(stored);
    let inserted = match session {
        Some(session) => insert.session(session).await,
        None => insert.await,
    };
    let context = Context::of_documents::<T>(operation, None);
    inserted.map_err(|error| Error::stored(error, &context))?;
    tracing::debug!(target: trace::WRITE, documents = number, "{operation}");
    Ok(u64::try_from(number).unwrap_or(u64::MAX))
}

impl<'a, T: Attributed> InsertDocument<'a, T> {
    /// Runs in this session.
    pub fn session(mut self, session: &'a mut ClientSession) -> Self {
        self.session = Some(session);
        self
    }
}

impl<'a, T: Attributed> InsertDocuments<'a, T> {
    /// Runs in this session.
    pub fn session(mut self, session: &'a mut ClientSession) -> Self {
        self.session = Some(session);
        self
    }
}

impl<'a, T: Attributed> IntoFuture for InsertDocument<'a, T> {
    type Output = Result<()>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span =
            tracing::debug_span!(target: trace::WRITE, "insert", collection = T::SPEC.collection());
        let stored = async move {
            store("insert", self.documents, self.stored, self.session).await?;
            Ok(())
        };
        Box::pin(stored.instrument(span))
    }
}

impl<'a, T: Attributed> IntoFuture for InsertDocuments<'a, T> {
    type Output = Result<u64>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span = tracing::debug_span!(target: trace::WRITE, "insert_many", collection = T::SPEC.collection());
        let stored = store("insert_many", self.documents, self.stored, self.session);
        Box::pin(stored.instrument(span))
    }
}
