//! `fill`: how full buckets are, and when the server removes them.

use bucket_core::{FillReport, Limits, Record, read::FillReader};
use mongodb::bson::DateTime;
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
    /// How full the stored buckets are: how many there are, open and full, with how many records, how much of their
    /// capacity they use, and how large they are. For models with `expire_after` also what the server removes, and
    /// when.
    ///
    /// The server reads every bucket once, in no index, and sends a few rows (with [limits by
    /// key](Buckets::with_limits) on windows and hybrid buckets a small one for each bucket). No memory grows with
    /// the collection. Each bucket counts once, as it was at one moment. A bucket that is opened or removed
    /// meanwhile may or may not count: for one moment of all buckets, read with the read concern `snapshot`.
    ///
    /// Everything that is stored counts, also what is past `expire_after` and no longer shown. A document that is no
    /// bucket of the model is counted only in [`damaged`](FillReport::damaged):
    /// its count is not the length of its array, or one of the form's fields has another type.
    /// [`verify`](Buckets::verify) says what is wrong.
    ///
    /// Settings: `key`; `session`, `deadline`, `max_time`, `read_concern`, `read_preference`.
    ///
    /// # Errors
    ///
    /// Those of the server and of the connection. With `key`: [`ErrorKind::MissingIndex`] before `ensure()`, and
    /// [`ErrorKind::Encode`] if `with_limits` gives the key limits that no bucket can have.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn overview<T: Bucketed>(buckets: &Buckets<T>) -> Result<()> {
    ///     let (sizes, fill) = (buckets.sizes().await?, buckets.fill().await?);
    ///     println!("{fill}");
    ///     if let Some(bytes) = sizes.per_record(fill.records) {
    ///         println!("{bytes:.1} bytes a record on disk");
    ///     }
    ///     if let Some(expiry) = &fill.expiry {
    ///         println!("the server is about to remove {}", expiry.overdue);
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn fill(&self) -> FillQuery<'_, T> {
        FillQuery {
            buckets: self,
            key: None,
            options: ReadOptions::default(),
        }
    }
}

/// A read of how full buckets are; see [`Buckets::fill`].
#[must_use = "nothing is read until this is awaited"]
#[derive(Debug)]
pub struct FillQuery<'a, T: Record> {
    buckets: &'a Buckets<T>,
    key: Option<T::Key>,
    options: ReadOptions<'a>,
}

impl<'a, T: Record> FillQuery<'a, T> {
    read_setters!(options);

    /// Only the buckets of this key, which the server finds in an index. A second call replaces the key of the
    /// first one.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// # async fn f<T: Bucketed>(buckets: &Buckets<T>, key: T::Key) -> Result<()> {
    /// let fill = buckets.fill().key(key).await?;
    /// println!("{} records in {} buckets", fill.records, fill.buckets);
    /// # Ok(())
    /// # }
    /// ```
    pub fn key(mut self, key: impl Into<T::Key>) -> Self {
        self.key = Some(key.into());
        self
    }

    async fn run(self) -> Result<FillReport> {
        let Self {
            buckets,
            key,
            mut options,
        } = self;
        let context = match &key {
            Some(key) => Context::of::<T>("fill", key),
            None => Context::of_all::<T>("fill"),
        };
        let collection = buckets
            .store()
            .readable_anytime(&mut options, &context)
            .await?;
        let limits = |key: &T::Key| -> Option<Limits> { buckets.limits_of(key) };
        let now = DateTime::now();
        let mut reader = match &key {
            Some(key) => FillReader::<T>::of_key(key, buckets.limits_of(key), now)
                .map_err(|source| Error::new(ErrorKind::Encode(source), &context))?,
            None if buckets.has_limits() => FillReader::new(Some(&limits), now),
            None => FillReader::new(None, now),
        };
        let failed = |fault: ReadFault| Error::read(fault, &context);
        let options = SharedOptions::new(options);
        let rows = options.aggregate(&collection, reader.plan()).await;
        let mut rows = rows.map_err(failed)?;
        while let Some(row) = rows.next().await.map_err(failed)? {
            reader.take(&row);
        }
        let report = reader.finish();
        let (buckets, records) = (report.buckets, report.records);
        tracing::debug!(target: trace::READ, buckets, records, damaged = report.damaged, "fill");
        Ok(report)
    }
}

impl<'a, T: Record> IntoFuture for FillQuery<'a, T> {
    type Output = Result<FillReport>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span =
            tracing::debug_span!(target: trace::READ, "fill", collection = T::SPEC.collection());
        Box::pin(self.run().instrument(span))
    }
}
