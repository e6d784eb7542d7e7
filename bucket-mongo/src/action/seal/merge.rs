//! `merge`: several sealed buckets become one.

use std::time::Duration;

use bucket_core::Record;
use tracing::Instrument;

use super::{MergeReport, asked::Asked, merging::Merging};
use crate::{Buckets, Result, action::ActionFuture, trace};

impl<T: Record> Buckets<T> {
    /// Makes one bucket of several small sealed ones, in a model with
    /// `#[bucket(window = "1h", seal_after = "1d", merge = "week")]`, or with `max_duration` instead of `window`: the sealed buckets
    /// of a key that start within a week and follow one another become one, until they have 1,000 records together. Columns of more records take less space for each.
    ///
    /// Reads, statistics, edits, cursor tokens, references and [`watch`](Self::watch) go on as before. A late record gets a
    /// bucket of its own next to the merged one, and is merged into it later. Buckets with positions of sources or with fields
    /// of other tools, and archived ones, stay as they are.
    ///
    /// Of [windows in parts](bucket_core::Form), also those are merged that are not sealed, since they take no more records either.
    ///
    /// Of records that have expired, a model with `keep_stats` keeps a header for each bucket: those of a key and such a span
    /// become one as soon as all of the span has expired.
    ///
    /// Each merge is one transaction: at every moment a record is in one bucket. So this needs a replica set or a sharded
    /// cluster with MongoDB 5.0 or later. Several processes may call this at once. A call that ends with an error has merged
    /// some buckets: call it again. A [sealer](Self::sealer) merges by itself.
    ///
    /// Reads of such a model see one moment (read concern `snapshot`), unless the call or its session sets another one. So a
    /// record that was written with a write concern below `majority` is read a moment later. A read with another read concern
    /// can miss records that are merged meanwhile.
    ///
    /// Settings: `key`, `between`, `settled`, `dry_run`, `pause`; `deadline`, `write_concern`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind) if the model has no `merge`, if the server has no transactions or no
    /// reads of a snapshot, or for a span that ends before it starts; [`ErrorKind::OutcomeUnknown`](crate::ErrorKind) if buckets
    /// may be merged and there was no reply before the deadline; those of the server and of the connection.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn every_night<T: Bucketed>(buckets: &Buckets<T>) -> Result<()> {
    ///     println!("it would be: {}", buckets.merge().dry_run().await?);
    ///     println!("{}", buckets.merge().await?);
    ///     Ok(())
    /// }
    /// ```
    pub fn merge(&self) -> Merge<'_, T> {
        Merge {
            asked: Asked::new(self),
            settled: None,
        }
    }
}

/// Makes one bucket of several sealed ones; see [`Buckets::merge`].
#[must_use = "nothing is merged until this is awaited"]
#[derive(Debug)]
pub struct Merge<'a, T: Record> {
    pub(super) asked: Asked<'a, T>,
    settled: Option<Duration>,
}

impl<T: Record> Merge<'_, T> {
    /// Buckets that have been sealed for this long are merged, and parts of this age, of windows that have been due for as long: an hour
    /// if not set.
    ///
    /// Writers look for a merged bucket only where their own clock says that there can be one. So this has to be longer than
    /// clocks differ, and than two calls of a writer may take: its [deadline](Buckets::with_deadline) twice, and a
    /// second. With [`Duration::ZERO`] a late record that is written at the same
    /// moment can get a second bucket at the same place, which [`verify`](Buckets::verify) reports.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// # use std::time::Duration;
    /// async fn soon<T: Bucketed>(buckets: &Buckets<T>, key: T::Key) -> Result<()> {
    ///     buckets.merge().key(key).settled(Duration::from_secs(60)).await?;
    ///     Ok(())
    /// }
    /// ```
    pub fn settled(mut self, duration: Duration) -> Self {
        self.settled = Some(duration);
        self
    }
}

impl<'a, T: Record> IntoFuture for Merge<'a, T> {
    type Output = Result<MergeReport>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let collection = T::SPEC.collection();
        let span = tracing::debug_span!(target: trace::WRITE, "merge", collection);
        let merging = Merging::new(self.settled, self.asked);
        Box::pin(merging.run().instrument(span))
    }
}
