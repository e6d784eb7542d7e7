//! `page`: the manual's page, one bucket.

use std::fmt;

use bucket_core::{BucketDocument, DamagedBucket, Record, Referenced, TimeRange, bucket, read};
use mongodb::bson::{DateTime, RawDocument};
use tracing::Instrument;

use super::ActionFuture;
use crate::{
    Buckets, Error, ErrorKind, Result,
    error::Context,
    read::{ReadOptions, Rows},
    read_setters::read_setters,
    trace,
};

impl<T: Record> Buckets<T> {
    /// Reads page `number` of a key, counted from 1: its `number`-th bucket.
    ///
    /// In the manual's form and in numbered buckets, a full page keeps its place, whatever arrives late. (The
    /// manual's form has one exception, a race of openings inside the server.) Pages
    /// of windows are in time order: a late record may open one between others.
    ///
    /// Inside a page, records are in order of arrival. Unless buckets are numbered, the server walks over the
    /// index entries of the pages before it: to read all pages, use [`pages`](Self::pages).
    ///
    /// Settings: `session`, `deadline`, `max_time`, `read_concern`, `read_preference`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] for page 0, [`ErrorKind::Damaged`] if the document is not a bucket of
    /// the model.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn first<T: Bucketed>(buckets: &Buckets<T>, key: T::Key) -> Result<Vec<T>> {
    ///     Ok(buckets.page(key, 1).await?.into_records())
    /// }
    /// ```
    pub fn page(&self, key: impl Into<T::Key>, number: u64) -> PageQuery<'_, T> {
        PageQuery {
            buckets: self,
            key: key.into(),
            number,
            options: ReadOptions::default(),
            decode: |number, stored, range| {
                let bucket = stored.map(|stored| bucket::decode_within::<T>(stored, range));
                let bucket = bucket.transpose()?;
                Ok(Page { number, bucket })
            },
        }
    }
}

/// A read of a page; see [`Buckets::page`].
#[must_use = "nothing is read until this is awaited"]
pub struct PageQuery<'a, T: Record, R = Page<T>> {
    buckets: &'a Buckets<T>,
    key: T::Key,
    number: u64,
    options: ReadOptions<'a>,
    decode: Decode<R>,
}

/// Reads the bucket of a page, if there is one: its records in the range.
type Decode<R> = fn(u64, Option<&RawDocument>, TimeRange) -> Result<R, DamagedBucket>;

impl<T: Record, R> fmt::Debug for PageQuery<'_, T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageQuery")
            .field("key", &self.key)
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

/// A page of a key: one bucket, or nothing past the end.
///
/// ```
/// # use bucket_mongo::{Page, Record};
/// fn print<T: Record + std::fmt::Debug>(page: Page<T>) {
///     println!("page {}: {} records", page.number(), page.len());
///     for record in page {
///         println!("{record:?}");
///     }
/// }
/// ```
pub struct Page<T: Record> {
    number: u64,
    bucket: Option<T::Bucket>,
}

impl<T: Record> fmt::Debug for Page<T>
where
    T::Bucket: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page")
            .field("number", &self.number)
            .field("bucket", &self.bucket)
            .finish()
    }
}

impl<T: Record> Page<T> {
    /// The number of the page, counted from 1.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The stored bucket; `None` past the end.
    #[must_use]
    pub fn bucket(&self) -> Option<&T::Bucket> {
        self.bucket.as_ref()
    }

    /// Returns the stored bucket; `None` past the end.
    #[must_use]
    pub fn into_bucket(self) -> Option<T::Bucket> {
        self.bucket
    }

    /// The number of records on the page.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bucket
            .as_ref()
            .map_or(0, |bucket| bucket.as_ref().items.len())
    }

    /// Whether the page is past the end.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The records in order of arrival.
    #[must_use]
    pub fn into_records(self) -> Vec<T> {
        self.bucket.map_or_else(Vec::new, bucket::assemble_records)
    }
}

impl<T: Record> Page<T>
where
    T::Bucket: Clone,
{
    /// The records in order of arrival.
    #[must_use]
    pub fn records(&self) -> Vec<T> {
        self.bucket
            .clone()
            .map_or_else(Vec::new, bucket::assemble_records)
    }
}

impl<T: Record> IntoIterator for Page<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.into_records().into_iter()
    }
}

impl<'a, T: Record> PageQuery<'a, T> {
    /// Gives the records of the page, each with a reference, instead of the bucket; none past the end. See
    /// [`RecordsQuery::with_refs`](super::RecordsQuery::with_refs).
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn forget_page<T: Bucketed>(buckets: &Buckets<T>, key: T::Key) -> Result<()> {
    ///     for found in buckets.page(key.clone(), 1).with_refs().await? {
    ///         buckets.delete(key.clone(), &found.reference).await?;
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn with_refs(self) -> PageQuery<'a, T, Vec<Referenced<T>>> {
        PageQuery {
            buckets: self.buckets,
            key: self.key,
            number: self.number,
            options: self.options,
            decode: |_, stored, range| {
                let found = stored.map(|stored| read::references(stored, range));
                Ok(found.transpose()?.unwrap_or_default())
            },
        }
    }
}

impl<'a, T: Record, R: Send + 'a> PageQuery<'a, T, R> {
    read_setters!(options);

    async fn run(mut self) -> Result<R> {
        let context = Context::of::<T>("page", &self.key);
        if self.number == 0 {
            let message = "pages are counted from 1".to_owned();
            return Err(Error::new(ErrorKind::InvalidArgument { message }, &context));
        }
        let key = read::key_elements::<T>(&self.key);
        let live = read::live(T::SPEC, DateTime::now());
        let plan = live.find(read::page(T::SPEC, &key, self.number));
        let store = self.buckets.store();
        let collection = store.readable(&mut self.options, &context).await?;
        let found = Rows::one(&collection, plan, self.options)
            .await
            .map_err(|error| Error::read(error, &context))?;
        // The last bucket may have no records yet; then it is not a page.
        let found = found.filter(|stored| bucket::has_records::<T>(stored));
        let page = (self.decode)(self.number, found.as_deref(), live.range());
        let page = page.map_err(|damage| Error::new(ErrorKind::Damaged(damage), &context))?;
        tracing::debug!(target: trace::READ, found = found.is_some(), "page");
        Ok(page)
    }
}

impl<'a, T: Record, R: Send + 'a> IntoFuture for PageQuery<'a, T, R> {
    type Output = Result<R>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span =
            tracing::debug_span!(target: trace::READ, "page", collection = T::SPEC.collection());
        Box::pin(self.run().instrument(span))
    }
}
