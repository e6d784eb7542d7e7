//! `records`: a stream over the records of a key.

use std::{
    fmt,
    pin::Pin,
    task::{self, Poll, ready},
    vec,
};

use bucket_core::{Record, bucket};
use futures_core::Stream;
use futures_util::StreamExt;
use tracing::Instrument;

use super::{ActionFuture, Pages, PagesQuery};
use crate::{Buckets, Result, trace};

impl<T: Record> Buckets<T> {
    /// Every record of a key, page by page, as a stream; inside a page in their order of arrival.
    ///
    /// # Errors
    ///
    /// As [`pages`](Self::pages).
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// use futures_util::TryStreamExt;
    ///
    /// async fn all<T: Bucketed>(buckets: &Buckets<T>, key: T::Key) -> Result<Vec<T>> {
    ///     buckets.records(key).await?.try_collect().await
    /// }
    /// ```
    pub fn records(&self, key: impl Into<T::Key>) -> RecordsQuery<'_, T> {
        RecordsQuery {
            pages: PagesQuery::named(self, key.into(), "records"),
        }
    }
}

/// Records to be read; see [`Buckets::records`].
#[must_use = "nothing is read until this is awaited"]
#[derive(Debug)]
pub struct RecordsQuery<'a, T: Record> {
    pages: PagesQuery<'a, T>,
}

/// A stream over the records of a key; see [`Buckets::records`].
pub struct Records<T: Record> {
    pages: Pages<T>,
    page: vec::IntoIter<T>,
}

impl<T: Record> fmt::Debug for Records<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records")
            .field("pages", &self.pages)
            .finish_non_exhaustive()
    }
}

// No field is ever pinned.
impl<T: Record> Unpin for Records<T> {}

impl<T: Record> Stream for Records<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(record) = self.page.next() {
                return Poll::Ready(Some(Ok(record)));
            }
            match ready!(self.pages.poll_next_unpin(cx)) {
                None => return Poll::Ready(None),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                Some(Ok(page)) => self.page = bucket::assemble_records(page).into_iter(),
            }
        }
    }
}

impl<'a, T: Record> IntoFuture for RecordsQuery<'a, T> {
    type Output = Result<Records<T>>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span =
            tracing::debug_span!(target: trace::READ, "records", collection = T::SPEC.collection());
        let pages = self.pages.run();
        let records = async {
            Ok(Records {
                pages: pages.await?,
                page: Vec::new().into_iter(),
            })
        };
        Box::pin(records.instrument(span))
    }
}
