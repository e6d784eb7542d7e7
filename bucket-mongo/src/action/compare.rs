//! `compare_with`: whether the buckets have exactly the records of a flat collection.
//!
//! | piece | file |
//! | --- | --- |
//! | what a call was asked for | `asked` |
//! | the records of both sides, as they are read | `both` |
//! | the call: a first read counts, a second one finds what differs | `running` |
//! | the report, and the progress | `comparison` |

mod asked;
mod both;
mod comparison;
mod running;

use std::fmt;

use bucket_core::{IntoTimeRange, Record};
use mongodb::Collection;
use serde::de::DeserializeOwned;
use tracing::Instrument;

pub use self::comparison::{CompareProgress, Comparison, Difference};
use self::{
    asked::{Asked, OnProgress},
    running::run,
};
use super::ActionFuture;
use crate::{Buckets, Result, trace};

impl<T: Record + DeserializeOwned> Buckets<T> {
    /// Compares the records of the buckets with the documents of a flat collection, which are read as
    /// [`backfill_from`](Self::backfill_from) reads them. Only reads.
    ///
    /// Both sides are read once, in any order, and with 2 MB of memory each, and the keys: a number and a hash of the records
    /// are kept for each of 65,536 parts. If some differ, both are read again, and the records of these parts are compared one by one, up to
    /// about 200,000. The report names the first 100 of them that only one side has. It tells the sides apart if
    /// any field of any record differs, and counts a record that is there twice.
    ///
    /// The records of the buckets are those that reads give: without those that have expired, and with those of the
    /// [archive](Self::with_archive) that the handle reads. Nobody should write meanwhile to what is compared: leave out
    /// what is new by [`between`](CompareWith::between).
    ///
    /// Settings: `between`, `ignore_fields`, `on_progress`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind) if there is no source, if it is a view, a time series collection or the
    /// collection of the buckets, or if the range ends before it starts; those of [`keys`](Self::keys) and
    /// [`range`](Self::range). Differences are no error.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result, mongodb::Database};
    /// # use bucket_mongo::bson::Document;
    /// # use serde::de::DeserializeOwned;
    /// async fn rename_what_has_moved<T: Bucketed + DeserializeOwned>(trades: &Buckets<T>, old: &Database) -> Result<()> {
    ///     let flat = old.collection::<Document>("flat_trades");
    ///     let comparison = trades.compare_with(&flat).await?;
    ///     println!("{comparison}"); // 5000000 documents and 5000000 records: the same
    ///     for difference in &comparison.differences {
    ///         eprintln!("{difference}");
    ///     }
    ///     if comparison.is_same() {
    ///         // What is done with the old collection is up to you.
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn compare_with<D: Send + Sync>(&self, source: &Collection<D>) -> CompareWith<'_, T> {
        CompareWith {
            asked: Asked {
                buckets: self,
                source: source.clone_with_type(),
                ignored: Vec::new(),
                range: (..).into_time_range(),
            },
            on_progress: None,
        }
    }
}

/// A comparison; see [`Buckets::compare_with`].
#[must_use = "nothing is read until this is awaited"]
pub struct CompareWith<'a, T: Record> {
    asked: Asked<'a, T>,
    on_progress: Option<OnProgress<'a>>,
}

impl<'a, T: Record> CompareWith<'a, T> {
    /// Compares only the records of this time range, which includes its start and excludes its end. All documents of the source
    /// are read nevertheless.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result, bson::{DateTime, Document}, mongodb::Collection};
    /// # use serde::de::DeserializeOwned;
    /// async fn is_moved<T: Bucketed + DeserializeOwned>(
    ///     trades: &Buckets<T>,
    ///     old: &Collection<Document>,
    ///     switched: DateTime,
    /// ) -> Result<bool> {
    ///     Ok(trades.compare_with(old).between(..switched).await?.is_same())
    /// }
    /// ```
    pub fn between(mut self, range: impl IntoTimeRange) -> Self {
        self.asked.range = range.into_time_range();
        self
    }

    /// Leaves these top-level fields of the documents out; see
    /// [`BackfillFrom::ignore_fields`](super::BackfillFrom::ignore_fields).
    pub fn ignore_fields<I>(mut self, names: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        self.asked.ignored.extend(names.into_iter().map(Into::into));
        self
    }

    /// Calls this after each 4,096 documents and records, and at the end of each read.
    pub fn on_progress(mut self, tell: impl FnMut(&CompareProgress) + Send + 'a) -> Self {
        self.on_progress = Some(Box::new(tell));
        self
    }
}

impl<T: Record> fmt::Debug for CompareWith<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompareWith")
            .field("collection", &T::SPEC.collection())
            .field("source", &self.asked.source.namespace())
            .field("range", &self.asked.range)
            .finish_non_exhaustive()
    }
}

impl<'a, T: Record + DeserializeOwned> IntoFuture for CompareWith<'a, T> {
    type Output = Result<Comparison>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let collection = T::SPEC.collection();
        let span = tracing::debug_span!(target: trace::READ, "compare_with", collection);
        Box::pin(run(self.asked, self.on_progress).instrument(span))
    }
}
