//! `repair`: mends what a check found, or moves it into a quarantine.

mod copying;
mod missing_indexes;
mod repair_report;
mod repairing;

use std::{fmt, time::Duration};

use bucket_core::{Record, TimeRange, index::Drift, write::collection_drift};
use futures_util::TryStreamExt;
use mongodb::{bson::doc, options::WriteConcern};
use tokio::time::timeout_at;
use tracing::Instrument;

pub use self::repair_report::{RepairReport, RepairedBucket};
use self::repairing::{Moved, Repairing};
use super::{
    ActionFuture, VerifyReport,
    edit::{Editing, deadline, passes},
    verify::{Asked, Verifying},
};
use crate::{
    Buckets, Error, ErrorKind, Result,
    error::{Context, ReadFault},
    read::ReadOptions,
    trace,
    writer::Settings,
};

/// How many findings of a new check are repaired together, and how many buckets a report keeps if nothing else
/// is set.
const TOGETHER: usize = 1_000;

/// The collection for buckets that cannot be mended, if no other one is set.
pub(super) fn default_quarantine<T: Record>() -> String {
    format!("{}_quarantine", T::SPEC.collection())
}

impl<T: Record> Buckets<T> {
    /// Repairs the buckets that a [`verify`](Self::verify) found. What follows from the rest of a bucket is mended:
    /// aggregates and counts from the items, marks, dates and sizes. A bucket with harm that cannot be mended without
    /// a guess moves into a quarantine collection, with the reasons. The [book](https://docs.rs/bucket-mongo) says
    /// what is done about each problem.
    ///
    /// At the end, indexes of the model that are missing are created as [`ensure`](Self::ensure) does. None is dropped or
    /// replaced, and none is created that makes the server remove buckets.
    ///
    /// No record is removed. A bucket is copied into the quarantine with the write concern `majority` before it leaves
    /// the collection; a call that ends in between leaves it in both, and the next call goes on. The collection
    /// is `NAME_quarantine`, if `NAME` is the model's collection.
    ///
    /// Each bucket is read again first, and what is wrong with it now is repaired. Each statement matches only the
    /// exact bucket that was read, so writers may be at work. If others change a bucket again and again, it is left, and
    /// [`changed`](RepairReport::changed) counts it.
    ///
    /// Settings: `dry_run`, `quarantine`, `verify_again`, `keep`, `write_concern`, `deadline`. It takes no session: a
    /// transaction would be too short for it.
    ///
    /// # Errors
    ///
    /// Those of the server and of the connection; [`ErrorKind::InvalidArgument`] if the quarantine is the collection
    /// itself, or no plain collection; [`ErrorKind::OutcomeUnknown`] if a bucket may be repaired and there was no reply before the deadline.
    /// After an error, some buckets are repaired: call it again. A statement that the server refuses is no error: its
    /// bucket is left, and the report has the reason.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn mend<T: Bucketed>(buckets: &Buckets<T>) -> Result<()> {
    ///     let report = buckets.verify().await?;
    ///     println!("{}", buckets.repair(&report).dry_run().await?);
    ///     println!("{}", buckets.repair(&report).await?);
    ///     Ok(())
    /// }
    /// ```
    pub fn repair<'a>(&'a self, report: &'a VerifyReport) -> Repair<'a, T> {
        Repair {
            buckets: self,
            report,
            verify_again: false,
            quarantine: default_quarantine::<T>(),
            is_dry: false,
            keep: TOGETHER,
            settings: Settings::default(),
        }
    }
}

/// A repair of stored buckets; see [`Buckets::repair`].
#[must_use = "nothing is repaired until this is awaited"]
pub struct Repair<'a, T: Record> {
    buckets: &'a Buckets<T>,
    report: &'a VerifyReport,
    verify_again: bool,
    quarantine: String,
    is_dry: bool,
    keep: usize,
    settings: Settings,
}

impl<T: Record> fmt::Debug for Repair<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repair")
            .field("buckets", &self.buckets)
            .field("verify_again", &self.verify_again)
            .field("quarantine", &self.quarantine)
            .field("is_dry", &self.is_dry)
            .finish_non_exhaustive()
    }
}

impl<T: Record> Repair<'_, T> {
    /// Changes nothing: the report says what would be done.
    pub fn dry_run(mut self) -> Self {
        self.is_dry = true;
        self
    }

    /// The name of the collection for buckets that cannot be mended, in the same database; `NAME_quarantine` if
    /// not set. Several models may share one.
    pub fn quarantine(mut self, name: impl Into<String>) -> Self {
        self.quarantine = name.into();
        self
    }

    /// Repairs everything that a new check of the whole collection finds, instead of the findings of the report. A
    /// report keeps only the first 1,000 findings unless [`keep`](super::VerifyQuery::keep) was set.
    pub fn verify_again(mut self) -> Self {
        self.verify_again = true;
        self
    }

    /// How many buckets the report keeps: the first ones; 1,000 if not set. It counts all.
    pub fn keep(mut self, buckets: usize) -> Self {
        self.keep = buckets;
        self
    }

    /// Sets how long the statements of one bucket are retried; see [`Buckets::with_deadline`].
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.settings.deadline = Some(deadline);
        self
    }

    /// Sets the write concern instead of the handle's. A copy in the quarantine always has `majority`.
    pub fn write_concern(mut self, write_concern: WriteConcern) -> Self {
        self.settings.write_concern = Some(write_concern);
        self
    }

    /// A capped collection would remove what the quarantine keeps, and a view or a time series keeps it otherwise.
    async fn check_quarantine(&self, context: &Context) -> Result<()> {
        let look = doc! { "listCollections": 1, "filter": { "name": &self.quarantine } };
        let database = self.buckets.store().database();
        let until = deadline(self.buckets, &self.settings);
        let found = loop {
            let found = async {
                let found = database.run_cursor_command(look.clone());
                found.await?.try_next().await
            };
            let error = match timeout_at(until, found).await {
                Ok(Ok(found)) => break found,
                Ok(Err(error)) => Error::read(error, context),
                Err(_) => Error::read(ReadFault::Late, context),
            };
            // Whoever may not look relies on the one who may.
            if error.is_unauthorized() {
                return Ok(());
            }
            passes(error, until).await?;
        };
        let Some(Drift::Kind { found, .. }) = found.as_ref().and_then(collection_drift) else {
            return Ok(());
        };
        let message = format!(
            "the quarantine `{}` is no plain collection but a {found}: choose another one with `.quarantine(name)`",
            self.quarantine
        );
        Err(Error::new(ErrorKind::InvalidArgument { message }, context))
    }

    async fn run(self) -> Result<RepairReport> {
        let context = Context::of_all::<T>("repair");
        if self.quarantine.is_empty() || self.quarantine == T::SPEC.collection() {
            let message = "the quarantine must be another collection".to_owned();
            return Err(Error::new(ErrorKind::InvalidArgument { message }, &context));
        }
        self.check_quarantine(&context).await?;
        // To a model of another form, each bucket is damaged.
        let mut editing = Editing::new(self.buckets, None, &self.settings, context.clone())?;
        editing.check_collection().await?;
        let mut repairing = Repairing {
            buckets: self.buckets,
            quarantine: &self.quarantine,
            is_dry: self.is_dry,
            settings: &self.settings,
            context,
            keep: self.keep,
            moved: Moved::new(),
            report: RepairReport {
                is_dry: self.is_dry,
                quarantine: self.quarantine.clone(),
                indexes: self.report.indexes.clone(),
                ..RepairReport::default()
            },
        };
        if self.verify_again {
            let mut verifying = Verifying::new(Asked {
                buckets: self.buckets,
                key: None,
                range: TimeRange::ALL,
                after: None,
                pause: Duration::ZERO,
                on_progress: None,
                options: ReadOptions::default(),
            });
            let mut found = Vec::new();
            while let Some(finding) = verifying.next().await {
                found.push(finding?);
                if found.len() >= TOGETHER {
                    repairing.all(&found).await?;
                    found.clear();
                }
            }
            repairing.all(&found).await?;
        } else {
            repairing.all(&self.report.findings).await?;
            let kept = u64::try_from(self.report.findings.len()).unwrap_or(u64::MAX);
            repairing.report.not_kept = self.report.total().saturating_sub(kept);
        }
        let mut report = repairing.report;
        // Two open buckets, or a record id in two, were in the way of an index.
        missing_indexes::create(self.buckets, &mut report).await?;
        tracing::debug!(
            target: trace::WRITE,
            mended = report.mended,
            quarantined = report.quarantined,
            left = report.left,
            "repair"
        );
        Ok(report)
    }
}

impl<'a, T: Record> IntoFuture for Repair<'a, T> {
    type Output = Result<RepairReport>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let collection = T::SPEC.collection();
        let span = tracing::debug_span!(target: trace::WRITE, "repair", collection);
        Box::pin(self.run().instrument(span))
    }
}
