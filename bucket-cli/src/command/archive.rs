//! `archive`: sealed items move to another collection or database, or back.

use std::time::Duration;

use bucket_mongo::{ArchiveReport, Bucketed};

use crate::{
    at::{At, given_up},
    error::Error,
    exit::Outcome,
    planned::{self, Options, Sums},
    span::duration,
};

/// What moves. The place is that of `--archive-database` and `--archive-collection`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Asked {
    #[command(flatten)]
    options: Options,
    /// Only buckets whose records are all older than this
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "undo")]
    older_than: Option<Duration>,
    /// Move archived items back instead
    #[arg(long)]
    undo: bool,
}

pub(super) async fn run<T: Bucketed>(mut at: At<'_, T>, asked: Asked) -> Result<Outcome, Error> {
    let Some(archive) = at.archive.clone() else {
        return Err(Error::Usage(
            "where is the archive? Give --archive-database, --archive-collection or both"
                .to_owned(),
        ));
    };
    let range = asked.options.span.range()?;
    let pause = asked.options.pause.unwrap_or_default();
    let key = At::<T>::key(&asked.options.key.key)?;
    if asked.undo {
        let mut plan = at.buckets.restore_from(archive.clone()).between(range);
        if let Some(key) = key {
            plan = plan.key(key);
        }
        let plan = match at.signals.unless(plan.dry_run()).await {
            Ok(plan) => sums(&plan?),
            Err(signal) => return Ok(given_up(at.out, signal)),
        };
        let work = async |buckets: &bucket_mongo::Buckets<T>, key: T::Key| {
            let restore = buckets.restore_from(archive.clone()).between(range);
            Ok(sums(&restore.pause(pause).key(key).await?))
        };
        return planned::run(&mut at, "restore", &asked.options, plan, work).await;
    }
    let mut plan = at.buckets.archive_to(archive.clone()).between(range);
    if let Some(key) = key {
        plan = plan.key(key);
    }
    if let Some(age) = asked.older_than {
        plan = plan.older_than(age);
    }
    let plan = match at.signals.unless(plan.dry_run()).await {
        Ok(plan) => sums(&plan?),
        Err(signal) => return Ok(given_up(at.out, signal)),
    };
    let work = async |buckets: &bucket_mongo::Buckets<T>, key: T::Key| {
        let mut moving = buckets.archive_to(archive.clone()).between(range);
        if let Some(age) = asked.older_than {
            moving = moving.older_than(age);
        }
        Ok(sums(&moving.pause(pause).key(key).await?))
    };
    planned::run(&mut at, "archive", &asked.options, plan, work).await
}

/// The items take the same bytes in the other place.
fn sums(report: &ArchiveReport) -> Sums {
    Sums {
        buckets: report.buckets,
        records: report.records,
        bytes_before: report.bytes,
        bytes_after: report.bytes,
        stay: 0,
        changed: report.changed,
        damaged: report.damaged,
        dated: 0,
    }
}
