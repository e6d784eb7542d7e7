//! `page_count`: how many pages a key has.

use bucket_core::{Record, read};
use mongodb::bson::DateTime;
use tracing::Instrument;

use super::{ActionFuture, number, run_plan};
use crate::{
    Buckets, Error, Result,
    error::{Context, ReadFault},
    read::{ReadOptions, Rows},
    read_setters::read_setters,
    trace,
};

impl<T: Record> Buckets<T> {
    /// Counts the pages of a key; 0 if it has no records.
    ///
    /// This is also the number of the last page. The exception is numbered buckets of a model with
    /// `expire_after`: there a page keeps its number when earlier pages are removed.
    ///
    /// The server walks over the index entries of the key's buckets and reads at most two of them.
    ///
    /// Settings: `session`, `deadline`, `max_time`, `read_concern`, `read_preference`.
    ///
    /// # Errors
    ///
    /// Errors of the server and of the connection.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn last<T: Bucketed>(buckets: &Buckets<T>, key: T::Key) -> Result<Vec<T>> {
    ///     let pages = buckets.page_count(key.clone()).await?;
    ///     Ok(buckets.page(key, pages.max(1)).await?.into_records())
    /// }
    /// ```
    pub fn page_count(&self, key: impl Into<T::Key>) -> PageCountQuery<'_, T> {
        PageCountQuery {
            buckets: self,
            key: key.into(),
            options: ReadOptions::default(),
        }
    }
}

/// A count of pages; see [`Buckets::page_count`].
#[must_use = "nothing is read until this is awaited"]
#[derive(Debug)]
pub struct PageCountQuery<'a, T: Record> {
    buckets: &'a Buckets<T>,
    key: T::Key,
    options: ReadOptions<'a>,
}

impl<'a, T: Record> PageCountQuery<'a, T> {
    read_setters!(options);

    async fn run(mut self) -> Result<u64> {
        let context = Context::of::<T>("page_count", &self.key);
        let key = read::key_document::<T>(&self.key);
        let store = self.buckets.store();
        let collection = store.readable(&mut self.options, &context).await?;
        let failed = |fault: ReadFault| Error::read(fault, &context);
        let mut last = None;
        if let Some(plan) = read::last_page(T::SPEC, &read::key_elements::<T>(&self.key)) {
            let found = Rows::one(&collection, plan, self.options.lend()).await;
            let Some(found) = found.map_err(failed)? else {
                return Ok(0);
            };
            // A bucket whose id is not text is damaged; it still counts.
            last = found.get_str("_id").ok().map(str::to_owned);
        }
        let live = read::live(T::SPEC, DateTime::now());
        let plan = live.page_count(T::SPEC, &key, last.as_deref());
        let found = run_plan::aggregate(&collection, plan, self.options);
        let found = found.await.map_err(failed)?;
        let pages = found.map_or(0, |found| number(&found, "pages"));
        tracing::debug!(target: trace::READ, pages, "page_count");
        Ok(pages)
    }
}

impl<'a, T: Record> IntoFuture for PageCountQuery<'a, T> {
    type Output = Result<u64>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let collection = T::SPEC.collection();
        let span = tracing::debug_span!(target: trace::READ, "page_count", collection);
        Box::pin(self.run().instrument(span))
    }
}
