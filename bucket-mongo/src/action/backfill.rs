//! `backfill_from`: the documents of a flat collection become records in buckets.
//!
//! | piece | file |
//! | --- | --- |
//! | what a call was asked for | `asked` |
//! | the call: the next chunk is read while one is stored | `running` |
//! | the collection that is read | `source` |
//! | the documents of a chunk, as records and as rejects | `prepared` |
//! | a chunk in its transaction | `begun` |
//! | the chunks one after the other, and in parts | `storing` |
//! | which record the server refuses | `suspects` |
//! | the outcome of the records of a chunk | `verdict` |
//! | the jobs, and who works on them | `jobs` |
//! | commands that may be sent any number of times | `tries` |
//! | what a call would do | `backfill_plan` |
//! | the report, and the progress | `backfill_report` |

mod asked;
mod backfill_plan;
mod backfill_report;
mod begun;
mod jobs;
mod prepared;
mod running;
mod source;
mod storing;
mod suspects;
mod tries;
mod verdict;

use std::{fmt, num::NonZeroU32};

use bucket_core::Record;
use mongodb::Collection;
use serde::de::DeserializeOwned;
use tracing::Instrument;

pub(super) use self::source::{Reader, Source, id_of};
use self::{
    asked::{Asked, AskedOrder, OnProgress},
    backfill_plan::plan,
    running::run,
};
pub use self::{
    backfill_plan::BackfillPlan,
    backfill_report::{BackfillProgress, BackfillReport, RejectedDocument},
};
use super::ActionFuture;
use crate::{Buckets, Result, trace};

impl<T: Record + DeserializeOwned> Buckets<T> {
    /// Stores the documents of a flat collection as records. Each document is the serde form of one, as `Collection<T>` of the
    /// driver writes it. The source may be in another database, or another cluster; it is only read. Call
    /// [`ensure`](Self::ensure) first.
    ///
    /// Documents are read by an index on the key fields and the time, if the source has one, else by `_id`: so records of a
    /// key arrive together, and in the order of their times. They are stored in chunks, each in one transaction with its rejects
    /// and the progress of the job. So a call can end anywhere, by an error, a `kill -9` or a dropped future: the next call
    /// goes on where it was, and each document counts once. A job that is done stays done: another call reads nothing, and
    /// gives its report.
    ///
    /// A document that is no record goes to the collection `NAME_rejects`, with the reason, and the others go on. So does one
    /// that would lose something: a field that the struct does not know, unless [`ignore_fields`](BackfillFrom::ignore_fields)
    /// names it, or a value that its type cannot hold. `_id` is left out if the struct has none.
    /// So does a record that the model or the server refuses. The report [says](BackfillReport::is_whole) whether there are any.
    ///
    /// Nobody should write to the documents of the source meanwhile: a document that moves in the order that is read may be
    /// stored twice, or not at all. Others may insert and edit records in the buckets.
    ///
    /// Settings: `by_index`, `by_id`, `ignore_fields`, `throttle`, `named`, `on_progress`. [`plan`](BackfillFrom::plan) looks
    /// at what the call would do.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind) if the source is a view, a time series collection or the collection of
    /// the buckets, if the server of the buckets has no transactions, or if the job reads another collection or in another order;
    /// [`ErrorKind::TakenOver`](crate::ErrorKind) if another call works on the same job since;
    /// [`ErrorKind::BackfilledInPart`](crate::ErrorKind) for everything else that ends it after it has begun. Rejects are no
    /// error.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result, mongodb::Database};
    /// # use bucket_mongo::bson::Document;
    /// # use serde::de::DeserializeOwned;
    /// async fn move_all<T: Bucketed + DeserializeOwned>(trades: &Buckets<T>, old: &Database) -> Result<bool> {
    ///     trades.ensure().await?;
    ///     let report = trades
    ///         .backfill_from(&old.collection::<Document>("flat_trades"))
    ///         .on_progress(|done| eprintln!("{done}"))
    ///         .await?;
    ///     println!("{report}"); // 5000000 documents: 4999998 stored, 2 rejected
    ///     Ok(report.is_whole())
    /// }
    /// ```
    pub fn backfill_from<D: Send + Sync>(&self, source: &Collection<D>) -> BackfillFrom<'_, T> {
        BackfillFrom {
            asked: Asked {
                buckets: self,
                source: source.clone_with_type(),
                name: None,
                order: AskedOrder::Any,
                ignored: Vec::new(),
                throttle: None,
            },
            on_progress: None,
        }
    }
}

/// A backfill; see [`Buckets::backfill_from`].
#[must_use = "nothing is stored until this is awaited"]
pub struct BackfillFrom<'a, T: Record> {
    asked: Asked<'a, T>,
    on_progress: Option<OnProgress<'a>>,
}

impl<'a, T: Record> BackfillFrom<'a, T> {
    /// Reads by the index of this name. It must be on the key fields, then the time, of all documents. If not set, the first
    /// such index is used.
    pub fn by_index(mut self, name: impl Into<String>) -> Self {
        self.asked.order = AskedOrder::Index(name.into());
        self
    }

    /// Reads by `_id`, whatever indexes there are.
    pub fn by_id(mut self) -> Self {
        self.asked.order = AskedOrder::Id;
        self
    }

    /// Leaves these top-level fields of the documents out of the records, such as `__v`. A document with another field that the
    /// struct does not know is rejected, so that nothing is lost without your word.
    pub fn ignore_fields<I>(mut self, names: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        self.asked.ignored.extend(names.into_iter().map(Into::into));
        self
    }

    /// Stores at most this number of documents in a second, so that others get more of the servers.
    pub fn throttle(mut self, documents_per_second: NonZeroU32) -> Self {
        self.asked.throttle = Some(documents_per_second);
        self
    }

    /// The name of the job, under which its progress and its rejects are kept. If not set, it is the name of the source's
    /// database and collection. Name the jobs of two sources that have the same name, in two clusters.
    pub fn named(mut self, job: impl Into<String>) -> Self {
        self.asked.name = Some(job.into());
        self
    }

    /// Calls this after each chunk.
    pub fn on_progress(mut self, tell: impl FnMut(&BackfillProgress) + Send + 'a) -> Self {
        self.on_progress = Some(Box::new(tell));
        self
    }
}

impl<'a, T: Record + DeserializeOwned> BackfillFrom<'a, T> {
    /// Only reads: in which order the call would read, how many documents, and which of the next 1,000 it would reject. What
    /// the server would refuse is not known in advance.
    ///
    /// # Errors
    ///
    /// As [`Buckets::backfill_from`].
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result, bson::Document, mongodb::Collection};
    /// # use serde::de::DeserializeOwned;
    /// async fn look<T: Bucketed + DeserializeOwned>(trades: &Buckets<T>, old: &Collection<Document>) -> Result<()> {
    ///     println!("{}", trades.backfill_from(old).plan().await?);
    ///     Ok(())
    /// }
    /// ```
    pub fn plan(self) -> ActionFuture<'a, Result<BackfillPlan>> {
        let collection = T::SPEC.collection();
        let span = tracing::debug_span!(target: trace::WRITE, "backfill_from", collection);
        Box::pin(plan(self.asked).instrument(span))
    }
}

impl<T: Record> fmt::Debug for BackfillFrom<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackfillFrom")
            .field("collection", &T::SPEC.collection())
            .field("source", &self.asked.source.namespace())
            .field("order", &self.asked.order)
            .finish_non_exhaustive()
    }
}

impl<'a, T: Record + DeserializeOwned> IntoFuture for BackfillFrom<'a, T> {
    type Output = Result<BackfillReport>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let collection = T::SPEC.collection();
        let span = tracing::debug_span!(target: trace::WRITE, "backfill_from", collection);
        Box::pin(run(self.asked, self.on_progress).instrument(span))
    }
}
