//! `merge`: one bucket of several sealed ones.

use std::time::Duration;

use bucket_mongo::{Bucketed, MergeReport};

use crate::{
    at::{At, given_up},
    error::Error,
    exit::Outcome,
    planned::{self, Options, Sums},
    span::duration,
};

/// What is merged.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Asked {
    #[command(flatten)]
    options: Options,
    /// Merge buckets that have been sealed for this long, instead of an hour
    #[arg(long, value_name = "TIME", value_parser = duration)]
    settled: Option<Duration>,
}

pub(super) async fn run<T: Bucketed>(mut at: At<'_, T>, asked: Asked) -> Result<Outcome, Error> {
    let range = asked.options.span.range()?;
    let pause = asked.options.pause.unwrap_or_default();
    let mut plan = at.buckets.merge().between(range).dry_run();
    if let Some(key) = At::<T>::key(&asked.options.key.key)? {
        plan = plan.key(key);
    }
    if let Some(settled) = asked.settled {
        plan = plan.settled(settled);
    }
    let plan = match at.signals.unless(plan).await {
        Ok(plan) => sums(&plan?),
        Err(signal) => return Ok(given_up(at.out, signal)),
    };
    let work = async |buckets: &bucket_mongo::Buckets<T>, key: T::Key| {
        let mut merge = buckets.merge().between(range).pause(pause).key(key);
        if let Some(settled) = asked.settled {
            merge = merge.settled(settled);
        }
        Ok(sums(&merge.await?))
    };
    planned::run(&mut at, "merge", &asked.options, plan, work).await
}

fn sums(report: &MergeReport) -> Sums {
    Sums {
        buckets: report.buckets,
        records: report.records,
        bytes_before: report.bytes_before,
        bytes_after: report.bytes_after,
        stay: report.stay,
        changed: report.changed,
        damaged: 0,
        dated: report.dated,
    }
}
