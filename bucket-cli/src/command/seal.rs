//! `seal`: packs old buckets, or gives their rows back.

use std::time::Duration;

use bucket_mongo::{Bucketed, SealReport};

use crate::{
    at::{At, given_up},
    error::Error,
    exit::Outcome,
    planned::{self, Options, Sums},
    span::duration,
};

/// What is packed.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Asked {
    #[command(flatten)]
    options: Options,
    /// Seal buckets this long after their last record or window, instead of after the model's `seal_after`
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "undo")]
    due: Option<Duration>,
    /// Give sealed buckets their rows back instead
    #[arg(long)]
    undo: bool,
}

pub(super) async fn run<T: Bucketed>(mut at: At<'_, T>, asked: Asked) -> Result<Outcome, Error> {
    let range = asked.options.span.range()?;
    let pause = asked.options.pause.unwrap_or_default();
    let key = At::<T>::key(&asked.options.key.key)?;
    if asked.undo {
        let mut plan = at.buckets.unseal().between(range).dry_run();
        if let Some(key) = key {
            plan = plan.key(key);
        }
        let plan = match at.signals.unless(plan).await {
            Ok(plan) => sums(&plan?),
            Err(signal) => return Ok(given_up(at.out, signal)),
        };
        let work = async |buckets: &bucket_mongo::Buckets<T>, key: T::Key| {
            let unseal = buckets.unseal().between(range).pause(pause).key(key);
            Ok(sums(&unseal.await?))
        };
        return planned::run(&mut at, "unseal", &asked.options, plan, work).await;
    }
    let mut plan = at.buckets.seal().between(range).dry_run();
    if let Some(key) = key {
        plan = plan.key(key);
    }
    if let Some(due) = asked.due {
        plan = plan.after(due);
    }
    let plan = match at.signals.unless(plan).await {
        Ok(plan) => sums(&plan?),
        Err(signal) => return Ok(given_up(at.out, signal)),
    };
    let work = async |buckets: &bucket_mongo::Buckets<T>, key: T::Key| {
        let mut seal = buckets.seal().between(range).pause(pause).key(key);
        if let Some(due) = asked.due {
            seal = seal.after(due);
        }
        Ok(sums(&seal.await?))
    };
    planned::run(&mut at, "seal", &asked.options, plan, work).await
}

/// The figures of a report.
pub(super) fn sums(report: &SealReport) -> Sums {
    Sums {
        buckets: report.buckets,
        records: report.records,
        bytes_before: report.bytes_before,
        bytes_after: report.bytes_after,
        stay: report.stay,
        changed: report.changed,
        damaged: report.damaged,
        dated: 0,
    }
}
