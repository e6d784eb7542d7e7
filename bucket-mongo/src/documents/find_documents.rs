//! `find`: reads documents by a filter.

use std::{
    fmt,
    pin::Pin,
    task::{self, Poll},
};

use bucket_core::attribute::{Attributed, decode};
use futures_core::{Stream, stream::BoxStream};
use futures_util::{StreamExt, TryStreamExt};
use mongodb::{
    bson::{Document, RawDocument},
    options::FindOptions,
};
use tracing::Instrument;

use super::Documents;
use crate::{
    Error, ErrorKind, Result,
    action::ActionFuture,
    error::{Context, ReadFault},
    read::{Find, ReadOptions, Rows, each},
    read_setters::read_setters,
    trace,
};

impl<T: Attributed> Documents<T> {
    /// Reads the documents that a filter matches: a filter on attributes, or any filter document.
    ///
    /// `.await` returns all of them, [`stream`](FindQuery::stream) a stream.
    ///
    /// Settings: `sort`, `limit`, `session`, `deadline`, `max_time`, `read_concern`, `read_preference`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Document`] if a document does not fit the model: the error names the document and the entry.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Attributed, AttributeFilter, Documents, Result};
    /// async fn some<T: Attributed>(documents: &Documents<T>, filter: AttributeFilter) -> Result<Vec<T>> {
    ///     documents.find(filter).limit(10).await
    /// }
    /// ```
    pub fn find(&self, filter: impl Into<Document>) -> FindQuery<'_, T> {
        FindQuery {
            documents: self,
            filter: filter.into(),
            sort: Document::new(),
            limit: 0,
            options: ReadOptions::default(),
        }
    }
}

/// A read of documents; see [`Documents::find`].
#[must_use = "nothing is read until this is awaited"]
#[derive(Debug)]
pub struct FindQuery<'a, T: Attributed> {
    documents: &'a Documents<T>,
    filter: Document,
    sort: Document,
    limit: u32,
    options: ReadOptions<'a>,
}

/// A stream over documents; see [`FindQuery::stream`].
#[must_use = "streams do nothing unless polled"]
pub struct DocumentStream<'a, T: Attributed> {
    documents: BoxStream<'a, Result<T>>,
}

impl<T: Attributed> fmt::Debug for DocumentStream<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DocumentStream")
            .field("collection", &T::SPEC.collection())
            .finish_non_exhaustive()
    }
}

fn read<T: Attributed>(stored: &RawDocument) -> Result<T> {
    decode(stored).map_err(|error| {
        let id = error.id().map(str::to_owned);
        Error::new(
            ErrorKind::Document(error),
            &Context::of_documents::<T>("find", id),
        )
    })
}

fn failed<T: Attributed>(fault: ReadFault) -> Error {
    Error::read(fault, &Context::of_documents::<T>("find", None))
}

impl<'a, T: Attributed> FindQuery<'a, T> {
    /// Sorts the documents, by fields that are not attributes.
    pub fn sort(mut self, sort: Document) -> Self {
        self.sort = sort;
        self
    }

    /// Sets the most documents to read; 0 for all.
    pub fn limit(mut self, limit: u32) -> Self {
        self.limit = limit;
        self
    }

    read_setters!(options);

    /// Streams the documents from one cursor, which is opened when the stream is first polled. A document
    /// that the model cannot read is an error in its place; the stream continues after it.
    ///
    /// ```no_run
    /// use futures_util::TryStreamExt;
    /// # use bucket_mongo::{Attributed, AttributeFilter, Documents, Result};
    /// async fn print<T: Attributed>(documents: &Documents<T>, filter: AttributeFilter) -> Result<()> {
    ///     let mut found = documents.find(filter).stream();
    ///     while let Some(_document) = found.try_next().await? {}
    ///     Ok(())
    /// }
    /// ```
    pub fn stream(self) -> DocumentStream<'a, T> {
        let Self {
            documents,
            filter,
            sort,
            limit,
            mut options,
        } = self;
        let open = async move {
            let context = Context::of_documents::<T>("find", None);
            options.begin(&context).await?;
            let mut find = FindOptions::default();
            find.sort = Some(sort);
            find.limit = Some(limit.into());
            let find = Find::new(filter, find);
            let rows = Rows::found(&documents.stored(), vec![find], options).await;
            rows.map_err(failed::<T>)
        };
        DocumentStream {
            documents: each(open, read::<T>, failed::<T>),
        }
    }

    async fn run(self) -> Result<Vec<T>> {
        let found: Vec<T> = self.stream().try_collect().await?;
        tracing::debug!(target: trace::READ, documents = found.len(), "find");
        Ok(found)
    }
}

// No field is ever pinned.
impl<T: Attributed> Unpin for DocumentStream<'_, T> {}

impl<T: Attributed> Stream for DocumentStream<'_, T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Option<Self::Item>> {
        self.documents.poll_next_unpin(cx)
    }
}

impl<'a, T: Attributed> IntoFuture for FindQuery<'a, T> {
    type Output = Result<Vec<T>>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span =
            tracing::debug_span!(target: trace::READ, "find", collection = T::SPEC.collection());
        Box::pin(self.run().instrument(span))
    }
}
