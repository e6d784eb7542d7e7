//! `pages`: a stream over the buckets of a key.

use std::{
    fmt,
    pin::Pin,
    task::{self, Poll},
};

use bucket_core::{Record, TimeRange, bucket, read};
use futures_core::Stream;
use futures_util::StreamExt;
use mongodb::{
    Cursor,
    bson::{DateTime, RawDocumentBuf},
};
use tracing::Instrument;

use super::{ActionFuture, run_plan};
use crate::{Buckets, Error, ErrorKind, Result, error::Context, trace};

impl<T: Record> Buckets<T> {
    /// Streams every page of a key in order, as buckets from one cursor; the server skips over no pages.
    ///
    /// # Errors
    ///
    /// Errors of the server and of the connection. For a document that is not a bucket of the model, the
    /// stream gives [`ErrorKind::Damaged`] in its place and continues after it.
    ///
    /// ```no_run
    /// # use bucket_mongo::{BucketDocument, Bucketed, Buckets, Result};
    /// use futures_util::TryStreamExt;
    ///
    /// async fn sizes<T: Bucketed>(buckets: &Buckets<T>, key: T::Key) -> Result<Vec<u32>> {
    ///     let pages = buckets.pages(key).await?;
    ///     pages.map_ok(|bucket| bucket.as_ref().count).try_collect().await
    /// }
    /// ```
    pub fn pages(&self, key: impl Into<T::Key>) -> PagesQuery<'_, T> {
        PagesQuery {
            buckets: self,
            key: key.into(),
        }
    }
}

/// A read of all pages; see [`Buckets::pages`].
#[must_use = "nothing is read until this is awaited"]
#[derive(Debug)]
pub struct PagesQuery<'a, T: Record> {
    buckets: &'a Buckets<T>,
    key: T::Key,
}

/// A stream over the buckets of a key; see [`Buckets::pages`].
#[must_use = "streams do nothing unless polled"]
pub struct PageStream<T: Record> {
    cursor: Cursor<RawDocumentBuf>,
    /// The time range of the records that are shown.
    shown: TimeRange,
    context: Context,
    record: std::marker::PhantomData<fn() -> T>,
}

impl<T: Record> fmt::Debug for PageStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageStream")
            .field("collection", &T::SPEC.collection())
            .finish_non_exhaustive()
    }
}

impl<T: Record> PagesQuery<'_, T> {
    async fn run(self) -> Result<PageStream<T>> {
        let context = Context::of::<T>("pages", &self.key);
        let key = read::key_elements::<T>(&self.key);
        let collection = self.buckets.store().readable(&context).await?;
        let live = read::live(T::SPEC, DateTime::now());
        let plan = live.find(read::pages(T::SPEC, &key, None));
        let cursor = run_plan::many(&collection, plan)
            .await
            .map_err(|error| Error::read(error, &context))?;
        Ok(PageStream {
            cursor,
            shown: live.range(),
            context,
            record: std::marker::PhantomData,
        })
    }
}

impl<T: Record> Stream for PageStream<T> {
    type Item = Result<T::Bucket>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Option<Self::Item>> {
        self.cursor.poll_next_unpin(cx).map(|found| {
            found.map(|found| {
                let stored = found.map_err(|error| Error::read(error, &self.context))?;
                bucket::decode_within::<T>(&stored, self.shown)
                    .map_err(|damage| Error::new(ErrorKind::Damaged(damage), &self.context))
            })
        })
    }
}

impl<'a, T: Record> IntoFuture for PagesQuery<'a, T> {
    type Output = Result<PageStream<T>>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span =
            tracing::debug_span!(target: trace::READ, "pages", collection = T::SPEC.collection());
        Box::pin(self.run().instrument(span))
    }
}
