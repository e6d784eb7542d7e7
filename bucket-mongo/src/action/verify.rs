//! `verify`: whether the stored buckets keep every promise.

mod finding_stream;
mod indexes;
mod verify_report;
mod verifying;

use std::{fmt, time::Duration};

use bucket_core::{IntoTimeRange, Record, TimeRange, check::CheckPosition};
use tracing::Instrument;

pub use self::{
    finding_stream::FindingStream,
    verify_report::{VerifyProgress, VerifyReport},
};
pub(super) use self::{
    indexes::Indexes,
    verifying::{Asked, Verifying},
};
use super::ActionFuture;
use crate::{Buckets, Result, read::ReadOptions, read_setters::read_setters, trace};

/// How many findings a report keeps, if nothing else is set.
const KEPT: usize = 1_000;

impl<T: Record> Buckets<T> {
    /// Checks every stored bucket: its id, key, fields, count, items, aggregates and marks, and what the buckets of
    /// a key promise together.
    ///
    /// `.await` gives a [`VerifyReport`], [`.stream()`](VerifyQuery::stream) each [`Finding`](crate::Finding) as it
    /// is found. Nothing is changed. The [book](https://docs.rs/bucket-mongo) lists what is checked.
    ///
    /// The call reads the whole collection once, in the order of its index on the keys (`bucket_pages`, or the one
    /// that orders numbered buckets and windows with object ids), and keeps a batch of documents in memory at a time.
    /// Writers may be at work: what one may be in the middle of is looked at twice more, after a short pause, before
    /// it is reported.
    ///
    /// Settings: `key`, `between`, `after`, `pause`, `keep`, `on_progress`; `session`, `deadline`, `max_time`, `read_concern`,
    /// `read_preference`.
    ///
    /// # Errors
    ///
    /// Those of the server and of the connection, and [`ErrorKind::InvalidArgument`](crate::ErrorKind) for a
    /// position of another model or a span that ends before it starts. Damage is no error here.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn check<T: Bucketed>(buckets: &Buckets<T>) -> Result<()> {
    ///     let report = buckets.verify().await?;
    ///     println!("{report}");
    ///     assert_eq!(report.harmful(), 0);
    ///     Ok(())
    /// }
    /// ```
    pub fn verify(&self) -> VerifyQuery<'_, T> {
        VerifyQuery {
            asked: Asked {
                buckets: self,
                key: None,
                range: TimeRange::ALL,
                after: None,
                pause: Duration::ZERO,
                on_progress: None,
                options: ReadOptions::default(),
            },
            keep: KEPT,
        }
    }
}

/// A check of stored buckets; see [`Buckets::verify`].
#[must_use = "nothing is read until this is awaited"]
pub struct VerifyQuery<'a, T: Record> {
    asked: Asked<'a, T>,
    keep: usize,
}

impl<'a, T: Record> VerifyQuery<'a, T> {
    read_setters!(asked.options);

    /// Only the buckets of this key. A second call replaces the key of the first one.
    pub fn key(mut self, key: impl Into<T::Key>) -> Self {
        self.asked.key = Some(key.into());
        self
    }

    /// Only the buckets that can hold records of this span of time: those whose window or span reaches into it, in
    /// other forms those with a record in it. Buckets whose times cannot be read are included. A second call
    /// replaces the span of the first one.
    ///
    /// What the buckets of a key promise together is checked for those of the span. Missing numbers are not reported.
    /// The server examines the other buckets too, but does not send them.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result, bson::DateTime};
    /// # use std::time::{Duration, SystemTime};
    /// # async fn f<T: Bucketed>(buckets: &Buckets<T>) -> Result<()> {
    /// let yesterday = SystemTime::now() - Duration::from_secs(24 * 60 * 60);
    /// let report = buckets.verify().between(DateTime::from_system_time(yesterday)..).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn between(mut self, range: impl IntoTimeRange) -> Self {
        self.asked.range = range.into_time_range();
        self
    }

    /// Goes on after this position of an earlier call, which a [`VerifyProgress`] or a [`VerifyReport`] has. A call that ends with
    /// an error gives no report: what it has found, only [`stream`](Self::stream) has passed on.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// # async fn f<T: Bucketed>(buckets: &Buckets<T>) -> Result<()> {
    /// let mut last = None;
    /// let first = buckets.verify().on_progress(|progress| last = progress.position.clone()).await;
    /// if let (Err(_), Some(last)) = (first, last) {
    ///     println!("{}", buckets.verify().after(last).await?);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn after(mut self, position: CheckPosition) -> Self {
        self.asked.after = Some(position);
        self
    }

    /// Waits this long after every 100 buckets, so that others get more of the server. None if not set.
    pub fn pause(mut self, pause: Duration) -> Self {
        self.asked.pause = pause;
        self
    }

    /// How many findings the report keeps: the first ones; 1,000 if not set. It counts all.
    pub fn keep(mut self, findings: usize) -> Self {
        self.keep = findings;
        self
    }

    /// Calls this after every 100 buckets, and at the end.
    pub fn on_progress(mut self, tell: impl FnMut(&VerifyProgress) + Send + 'a) -> Self {
        self.asked.on_progress = Some(Box::new(tell));
        self
    }

    /// The findings as a stream, whose first command is sent when it is first polled.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// use futures_util::TryStreamExt;
    ///
    /// async fn print<T: Bucketed>(buckets: &Buckets<T>) -> Result<()> {
    ///     let mut findings = buckets.verify().stream();
    ///     while let Some(finding) = findings.try_next().await? {
    ///         println!("{finding}");
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn stream(self) -> FindingStream<'a> {
        FindingStream::new(Verifying::new(self.asked))
    }

    /// Only where the indexes differ from the model's, in words: it reads no bucket and changes nothing. `None` if the user may
    /// not list them. A collection that does not exist differs in nothing.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn has_its_indexes<T: Bucketed>(buckets: &Buckets<T>) -> Result<bool> {
    ///     let differences = buckets.verify().indexes().await?;
    ///     Ok(differences.is_some_and(|differences| differences.is_empty()))
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Those of the server and of the connection.
    pub async fn indexes(self) -> Result<Option<Vec<String>>> {
        let indexes = Indexes::of(self.asked.buckets, "verify").await?;
        Ok(indexes.map(|indexes| indexes.without(&[])))
    }

    async fn run(self) -> Result<VerifyReport> {
        let keep = self.keep;
        let mut verifying = Verifying::new(self.asked);
        let mut report = VerifyReport {
            indexes: verifying.indexes().await?,
            ..VerifyReport::default()
        };
        while let Some(finding) = verifying.next().await {
            report.add(finding?, keep);
        }
        report.end(&verifying.progress());
        tracing::debug!(
            target: trace::READ,
            buckets = report.buckets,
            records = report.records,
            findings = report.total(),
            "verify"
        );
        Ok(report)
    }
}

impl<T: Record> fmt::Debug for VerifyQuery<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerifyQuery")
            .field("buckets", &self.asked.buckets)
            .field("after", &self.asked.after)
            .field("pause", &self.asked.pause)
            .field("keep", &self.keep)
            .finish_non_exhaustive()
    }
}

impl<'a, T: Record> IntoFuture for VerifyQuery<'a, T> {
    type Output = Result<VerifyReport>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span =
            tracing::debug_span!(target: trace::READ, "verify", collection = T::SPEC.collection());
        Box::pin(self.run().instrument(span))
    }
}
