//! `pages`: the buckets of a key, one after the other.

use std::{
    fmt,
    marker::PhantomData,
    pin::Pin,
    task::{self, Poll},
};

use bucket_core::{DamagedBucket, Record, Referenced, TimeRange, bucket, read};
use futures_core::{Stream, stream::BoxStream};
use futures_util::{StreamExt, TryStreamExt};
use mongodb::bson::{DateTime, RawDocument};
use tracing::Instrument;

use super::ActionFuture;
use crate::{
    Buckets, Error, ErrorKind, Result,
    error::{Context, ReadFault},
    read::{ReadOptions, Rows, each},
    read_setters::read_setters,
    trace,
};

impl<T: Record> Buckets<T> {
    /// Every page of a key in order, as buckets; one cursor, no page is skipped over.
    ///
    /// `.await` gives a `Vec`, [`.stream()`](PagesQuery::stream) a stream.
    ///
    /// Settings: `session`, `deadline`, `max_time`, `read_concern`, `read_preference`.
    ///
    /// # Errors
    ///
    /// Those of the server and of the connection, and [`ErrorKind::Damaged`] if a document is no bucket of the model.
    /// A stream gives that in the place of the document and goes on after it.
    ///
    /// ```no_run
    /// # use bucket_mongo::{BucketDocument, Bucketed, Buckets, Result};
    /// use futures_util::TryStreamExt;
    ///
    /// async fn sizes<T: Bucketed>(buckets: &Buckets<T>, key: T::Key) -> Result<Vec<u32>> {
    ///     let pages = buckets.pages(key).stream();
    ///     pages.map_ok(|bucket| bucket.as_ref().count).try_collect().await
    /// }
    /// ```
    pub fn pages(&self, key: impl Into<T::Key>) -> PagesQuery<'_, T> {
        PagesQuery {
            buckets: self,
            key: key.into(),
            options: ReadOptions::default(),
            decode: bucket::decode_within::<T>,
        }
    }
}

/// A read of all pages; see [`Buckets::pages`].
#[must_use = "nothing is read until this is awaited"]
pub struct PagesQuery<'a, T: Record, R = <T as Record>::Bucket> {
    buckets: &'a Buckets<T>,
    key: T::Key,
    options: ReadOptions<'a>,
    /// Reads a bucket: its records in the range.
    decode: fn(&RawDocument, TimeRange) -> Result<R, DamagedBucket>,
}

impl<T: Record, R> fmt::Debug for PagesQuery<'_, T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PagesQuery")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

/// A stream over the buckets of a key; see [`Buckets::pages`].
#[must_use = "streams do nothing unless polled"]
pub struct PageStream<'a, T: Record, R = <T as Record>::Bucket> {
    pages: BoxStream<'a, Result<R>>,
    record: PhantomData<fn() -> T>,
}

impl<T: Record, R> fmt::Debug for PageStream<'_, T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageStream")
            .field("collection", &T::SPEC.collection())
            .finish_non_exhaustive()
    }
}

impl<'a, T: Record> PagesQuery<'a, T> {
    /// Gives the records of each page, each with a reference, instead of the bucket. See
    /// [`RecordsQuery::with_refs`](super::RecordsQuery::with_refs).
    pub fn with_refs(self) -> PagesQuery<'a, T, Vec<Referenced<T>>> {
        PagesQuery {
            buckets: self.buckets,
            key: self.key,
            options: self.options,
            decode: read::references,
        }
    }
}

impl<'a, T: Record, R: Send + 'a> PagesQuery<'a, T, R> {
    read_setters!(options);

    /// The pages as a stream over one cursor, which is opened when the stream is first polled.
    pub fn stream(self) -> PageStream<'a, T, R> {
        let Self {
            buckets,
            key,
            mut options,
            decode: read,
        } = self;
        let context = Context::of::<T>("pages", &key);
        let live = read::live(T::SPEC, DateTime::now());
        let plan = live.find(read::pages(T::SPEC, &read::key_elements::<T>(&key), None));
        let shown = live.range();
        let open = {
            let context = context.clone();
            async move {
                let store = buckets.store();
                let collection = store.readable(&mut options, &context).await?;
                let rows = Rows::open(&collection, vec![plan], 0, options).await;
                rows.map_err(|fault| Error::read(fault, &context))
            }
        };
        let decode = {
            let context = context.clone();
            move |stored: &RawDocument| {
                read(stored, shown)
                    .map_err(|damage| Error::new(ErrorKind::Damaged(damage), &context))
            }
        };
        let failed = move |fault: ReadFault| Error::read(fault, &context);
        PageStream {
            pages: each(open, decode, failed),
            record: PhantomData,
        }
    }

    async fn run(self) -> Result<Vec<R>> {
        let pages: Vec<R> = self.stream().try_collect().await?;
        tracing::debug!(target: trace::READ, pages = pages.len(), "pages");
        Ok(pages)
    }
}

impl<T: Record, R> Stream for PageStream<'_, T, R> {
    type Item = Result<R>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Option<Self::Item>> {
        self.pages.poll_next_unpin(cx)
    }
}

impl<'a, T: Record, R: Send + 'a> IntoFuture for PagesQuery<'a, T, R> {
    type Output = Result<Vec<R>>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span =
            tracing::debug_span!(target: trace::READ, "pages", collection = T::SPEC.collection());
        Box::pin(self.run().instrument(span))
    }
}
