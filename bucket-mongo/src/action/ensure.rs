//! `ensure`: the collection and its indexes, and how they differ from the model.

use bucket_core::{Record, index::Drift, write::collection_drift};
use tracing::Instrument;

use self::checks::{check_size, compression_drift};
pub use self::ensure_report::{EnsureReport, SizeWarning};
use super::ActionFuture;
use crate::{Buckets, Error, Result, error::Context, trace};

mod checks;
mod collection;
mod ensure_report;
mod indexes;

impl<T: Record> Buckets<T> {
    /// Creates the collection and the indexes that the model needs, where they are missing.
    ///
    /// It destroys nothing and may run at every start, in every process at once: what is there
    /// and differs from the model is reported as drift and left alone.
    ///
    /// # Errors
    ///
    /// [`BucketTooLarge`](crate::ErrorKind::BucketTooLarge) if a full bucket would pass 16 MB with
    /// records of the size found in the collection, [`IndexBuild`](crate::ErrorKind::IndexBuild) if
    /// the collection holds two open buckets of one key.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn start<T: Bucketed>(buckets: &Buckets<T>) -> Result<()> {
    ///     let report = buckets.ensure().await?;
    ///     if !report.drift.is_empty() {
    ///         eprintln!("{report}");
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn ensure(&self) -> Ensure<'_, T> {
        Ensure {
            buckets: self,
            replace: false,
            change_expiry: false,
        }
    }
}

/// A collection to be set up; see [`Buckets::ensure`].
#[must_use = "nothing is created until this is awaited"]
#[derive(Debug)]
pub struct Ensure<'a, T: Record> {
    buckets: &'a Buckets<T>,
    replace: bool,
    change_expiry: bool,
}

impl<T: Record> Ensure<'_, T> {
    /// Drops this library's indexes that are in the way of the model's: those on open buckets of
    /// another capacity, and those of the model's names with another definition.
    ///
    /// Meant for the moment in which a capacity is changed: from then on writers of the old model
    /// open no bucket any more ([`MissingIndex`](crate::ErrorKind::MissingIndex)); they may still fill
    /// one that they remember, up to their own capacity.
    pub fn replace_indexes(mut self) -> Self {
        self.replace = true;
        self
    }

    /// Makes the limit of a model with `expire_after` that of the collection, where it has another one.
    ///
    /// Without this call `ensure` reports the difference
    /// ([`Drift::Expiry`](bucket_core::index::Drift::Expiry)) and the server goes on removing buckets by the
    /// limit that it knows, while reads of a handle go by the model's. A shorter limit has the server
    /// remove what is past it, for good. Where the model has no limit any more, the index is dropped
    /// and nothing is removed from then on.
    ///
    /// In the manual's form and in numbered buckets it also gives those from before the model had a
    /// limit the date that their age counts from, for which it looks at every bucket; without it, they
    /// are hidden when their time has come, but not removed.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn keep_for_as_long_as_the_model_says<T: Bucketed>(buckets: &Buckets<T>) -> Result<()> {
    ///     let report = buckets.ensure().change_expiry().await?;
    ///     println!("{report}"); // index `bucket_expire` changed
    ///     Ok(())
    /// }
    /// ```
    pub fn change_expiry(mut self) -> Self {
        self.change_expiry = true;
        self
    }

    async fn run(self) -> Result<EnsureReport> {
        let context = Context::of_all::<T>("ensure");
        let mut report = EnsureReport::default();
        let driver = |error| Error::read(error, &context);
        if let Some(found) = self.collection_info().await.map_err(driver)? {
            report.drift.extend(compression_drift::<T>(&found));
            if let Some(drift) = collection_drift(&found) {
                let is_kind = matches!(drift, Drift::Kind { .. });
                report.drift.push(drift);
                if is_kind {
                    return Ok(report);
                }
            }
        } else {
            report.created_collection = self.create_collection().await.map_err(driver)?;
        }
        let record_bytes = self.record_bytes().await.map_err(driver)?;
        report.size_warning = check_size::<T>(record_bytes, &context)?;
        self.indexes(&mut report, &context).await?;
        if self.change_expiry {
            report.dated_buckets = self.date_buckets().await.map_err(driver)?;
        }
        tracing::debug!(
            target: trace::ADMIN,
            created_collection = report.created_collection,
            created_indexes = report.created_indexes.len(),
            drift = report.drift.len(),
            "ensure",
        );
        Ok(report)
    }
}

impl<'a, T: Record> IntoFuture for Ensure<'a, T> {
    type Output = Result<EnsureReport>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span =
            tracing::debug_span!(target: trace::ADMIN, "ensure", collection = T::SPEC.collection());
        Box::pin(self.run().instrument(span))
    }
}
