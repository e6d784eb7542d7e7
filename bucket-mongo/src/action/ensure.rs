//! `ensure`: creates the collection and its indexes, and reports how they differ from the model.

use bucket_core::Record;
use tracing::Instrument;

pub use self::ensure_report::{EnsureReport, SizeWarning};
use self::set_up::SetUp;
use super::ActionFuture;
use crate::{Buckets, Result, trace};

mod checks;
mod collection;
mod ensure_report;
mod indexes;
mod set_up;

impl<T: Record> Buckets<T> {
    /// Creates the collection and the indexes that the model needs, if they are missing.
    ///
    /// It destroys nothing and may run at every start, in every process at once. What exists and differs from
    /// the model is reported as drift and not changed. The call waits for indexes that are still being built.
    ///
    /// A model with `expire_after` needs an index that makes the server remove buckets. An empty collection
    /// gets it at once. A collection with data reports drift
    /// ([`Drift::Expiry`](bucket_core::index::Drift::Expiry)) with what the server would remove, until you
    /// call [`change_expiry`](Ensure::change_expiry).
    ///
    /// It takes no session: a transaction cannot build indexes on a collection that exists, nor change its options.
    ///
    /// # Errors
    ///
    /// [`BucketTooLarge`](crate::ErrorKind::BucketTooLarge) if a full bucket would exceed 16 MB with records
    /// of the size found in the collection. [`IndexBuild`](crate::ErrorKind::IndexBuild) if the collection
    /// holds two open buckets of one key.
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

/// The setup of a collection; see [`Buckets::ensure`].
#[must_use = "nothing is created until this is awaited"]
#[derive(Debug)]
pub struct Ensure<'a, T: Record> {
    buckets: &'a Buckets<T>,
    replace: bool,
    change_expiry: bool,
}

impl<T: Record> Ensure<'_, T> {
    /// Drops this library's indexes that conflict with the model: those on open buckets of another capacity,
    /// and those with one of the model's names and another definition.
    ///
    /// Use it when you change a capacity. Writers of the old model then open no more buckets
    /// ([`Drift`](crate::ErrorKind::Drift)), whether they call `ensure` again or not; they may still fill a bucket
    /// that they remember, up to their own capacity.
    pub fn replace_indexes(mut self) -> Self {
        self.replace = true;
        self
    }

    /// Applies the model's `expire_after` to a collection that has another limit, or none.
    ///
    /// The server then removes what is past the limit, for good. Without this call, `ensure` reports the
    /// difference ([`Drift::Expiry`](bucket_core::index::Drift::Expiry)) and how much would be removed. The
    /// server keeps following the limit that it has, while reads follow the model's. If the model no longer
    /// has a limit, this call drops the index, and nothing is removed from then on.
    ///
    /// In the manual's form and in numbered buckets, the call also looks at every bucket. It gives buckets
    /// from before the model had a limit the date from which their age counts. Without that date, such
    /// buckets are hidden when they expire, but not removed.
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
}

impl<'a, T: Record> IntoFuture for Ensure<'a, T> {
    type Output = Result<EnsureReport>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span =
            tracing::debug_span!(target: trace::ADMIN, "ensure", collection = T::SPEC.collection());
        let set_up = SetUp {
            store: self.buckets.store(),
            replace: self.replace,
            change_expiry: self.change_expiry,
        };
        Box::pin(set_up.run().instrument(span))
    }
}
