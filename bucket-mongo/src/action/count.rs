//! `count`: how many records a key has.

use bucket_core::{Record, read};
use mongodb::bson::{DateTime, Document};
use tracing::Instrument;

use super::ActionFuture;
use crate::{
    Buckets, Error, ErrorKind, Result,
    error::{Context, ReadFault},
    read::{ReadOptions, SharedOptions},
    read_setters::read_setters,
    trace,
};

impl<T: Record> Buckets<T> {
    /// Counts the records of a key: the sum of the counts that its buckets keep.
    ///
    /// Settings: `session`, `deadline`, `max_time`, `read_concern`, `read_preference`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`] if a bucket's count is not a number.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn total<T: Bucketed>(buckets: &Buckets<T>, key: T::Key) -> Result<u64> {
    ///     buckets.count(key).await
    /// }
    /// ```
    pub fn count(&self, key: impl Into<T::Key>) -> CountQuery<'_, T> {
        CountQuery {
            buckets: self,
            key: key.into(),
            options: ReadOptions::default(),
        }
    }
}

/// A count of records; see [`Buckets::count`].
#[must_use = "nothing is read until this is awaited"]
#[derive(Debug)]
pub struct CountQuery<'a, T: Record> {
    buckets: &'a Buckets<T>,
    key: T::Key,
    options: ReadOptions<'a>,
}

impl<'a, T: Record> CountQuery<'a, T> {
    read_setters!(options);

    async fn run(mut self) -> Result<u64> {
        let context = Context::of::<T>("count", &self.key);
        let key = read::key_document::<T>(&self.key);
        let store = self.buckets.store();
        let collection = store.readable(&mut self.options, &context).await?;
        let live = read::live(T::SPEC, DateTime::now());
        let plan = live.record_count(T::SPEC, &key);
        let failed = |fault| Error::read(fault, &context);
        let options = SharedOptions::new(self.options);
        let found = options.aggregate(&collection, plan).await;
        let mut found = found.map_err(failed)?;
        let mut records = 0;
        while let Some(found) = found.next().await.map_err(failed)? {
            let found = Document::try_from(&*found);
            let found = found.map_err(|error| failed(ReadFault::Driver(error.into())))?;
            let counted = live.read_count(T::SPEC, &found);
            records +=
                counted.map_err(|damage| Error::new(ErrorKind::Damaged(damage), &context))?;
        }
        tracing::debug!(target: trace::READ, records, "count");
        Ok(records)
    }
}

impl<'a, T: Record> IntoFuture for CountQuery<'a, T> {
    type Output = Result<u64>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span =
            tracing::debug_span!(target: trace::READ, "count", collection = T::SPEC.collection());
        Box::pin(self.run().instrument(span))
    }
}
