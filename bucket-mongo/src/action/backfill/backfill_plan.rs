//! What a backfill would do, from what a look at its source shows.

use std::fmt;

use bucket_core::{
    Record,
    backfill::{Job, Reading},
};
use serde::de::DeserializeOwned;

use super::{
    asked::Asked,
    backfill_report::RejectedDocument,
    jobs::Jobs,
    running::{begin, job_of},
    source::{Reader, id_of},
};
use crate::{Result, error::Context};

/// How many documents are tried.
const SAMPLE: usize = 1_000;

/// What [`Buckets::backfill_from`](crate::Buckets::backfill_from) would do; see
/// [`BackfillFrom::plan`](crate::action::BackfillFrom::plan).
///
/// ```
/// fn is_ready(plan: &bucket_mongo::action::BackfillPlan) -> bool {
///     plan.index.is_some() && plan.rejects.is_empty()
/// }
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct BackfillPlan {
    /// The name of the index that it reads by; `None` for `_id`.
    pub index: Option<String>,
    /// About how many documents the source has.
    pub expected: u64,
    /// The number of documents that the job has read already.
    pub read: u64,
    /// Whether nothing is left.
    pub is_done: bool,
    /// The number of documents that were tried.
    pub sample: u64,
    /// Those of them that it would reject.
    pub rejects: Vec<RejectedDocument>,
}

impl fmt::Display for BackfillPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = self.index.as_deref().unwrap_or("_id");
        let Self {
            expected,
            read,
            sample,
            rejects,
            ..
        } = self;
        write!(
            f,
            "{read} of about {expected} documents are read, the others follow by `{order}`; of the next {sample}, {} would be \
             rejected",
            rejects.len()
        )
    }
}

pub(super) async fn plan<T: Record + DeserializeOwned>(
    asked: Asked<'_, T>,
) -> Result<BackfillPlan> {
    let context = Context::of_all::<T>("backfill_from");
    let Some((source, order, fresh)) = begin(&asked, &context).await? else {
        return Ok(BackfillPlan::default());
    };
    let jobs = Jobs::new(asked.buckets.store(), &context);
    let job = jobs.stored(&fresh).await?;
    let mut plan = BackfillPlan {
        index: order.index().map(str::to_owned),
        expected: source.expected().await?,
        read: job.as_ref().map_or(0, |job| job.counts().read),
        is_done: job.as_ref().is_some_and(Job::is_done),
        ..BackfillPlan::default()
    };
    let job = job_of(job, fresh, &order, &context)?;
    if plan.is_done {
        return Ok(plan);
    }
    let mut reading = Reading::<T>::new(asked.ignored.iter().cloned());
    let chunk = Reader::new(&source, &order)
        .chunk(job.position(), SAMPLE)
        .await?;
    for document in &chunk.documents {
        plan.sample += 1;
        if let Err(misfit) = reading.record(document) {
            plan.rejects.push(RejectedDocument {
                id: id_of(document),
                reason: misfit.to_string(),
            });
        }
    }
    Ok(plan)
}
