//! A call at work: the next chunk is read while one is stored.

use std::{
    num::NonZeroU32,
    time::{Duration, Instant as Clock},
};

use bucket_core::{
    Record,
    backfill::{Job, Order, Pace, Pass, Reading},
};
use futures_util::future::join;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep};

use super::{
    asked::{Asked, OnProgress},
    backfill_report::{BackfillProgress, BackfillReport},
    begun::transaction,
    jobs::Jobs,
    source::{Reader, Source},
    storing::Storing,
    tries::patience,
};
use crate::{Error, ErrorKind, Result, error::Context, trace};

/// The source of a call, the order in which it is read, and its job as if it had not begun; `None` if there is no source.
pub(super) async fn begin<'c, T: Record>(
    asked: &Asked<'_, T>,
    context: &'c Context,
) -> Result<Option<(Source<'c>, Order, Job)>> {
    let namespace = asked.source.namespace().to_string();
    let name = asked.name.as_ref().unwrap_or(&namespace);
    let to = T::SPEC.collection();
    let jobs = Jobs::new(asked.buckets.store(), context);
    let found = Source::find(asked.source.clone(), asked.buckets, context).await?;
    let uuid = found.as_ref().and_then(|source| source.uuid.clone());
    // Its order is not known yet, and is no part of what identifies it.
    let any = Job::new(name, to, uuid.clone(), &Order::by_id(T::SPEC));
    let job = jobs.stored(&any).await?;
    let Some(source) = found else {
        return match job {
            Some(job) if !job.is_done() => {
                let message = format!(
                    "the collection `{namespace}` is gone, after {} of its documents were read: bring it back, or remove the job \
                     `{name}` from `{}`",
                    job.counts().read,
                    bucket_core::backfill::COLLECTION,
                );
                Err(Error::new(ErrorKind::InvalidArgument { message }, context))
            }
            _ => Ok(None),
        };
    };
    // A job that is done reads nothing more, so its index may be gone.
    let is_done = job.as_ref().is_some_and(Job::is_done);
    let order = if is_done {
        Order::by_id(T::SPEC)
    } else {
        source.order::<T>(&asked.order, job.as_ref())?
    };
    let fresh = Job::new(name, to, uuid, &order);
    Ok(Some((source, order, fresh)))
}

/// The job that goes on, or one that begins.
pub(super) fn job_of(
    stored: Option<Job>,
    fresh: Job,
    order: &Order,
    context: &Context,
) -> Result<Job> {
    let Some(job) = stored else {
        return Ok(fresh);
    };
    if !job.is_done() {
        let checked = job.check_order(order);
        checked.map_err(|fault| Jobs::fault(fault, &job, context))?;
    }
    Ok(job)
}

/// Runs a call to its end.
pub(super) async fn run<T: Record + DeserializeOwned>(
    asked: Asked<'_, T>,
    on_progress: Option<OnProgress<'_>>,
) -> Result<BackfillReport> {
    let context = Context::of_all::<T>("backfill_from");
    let begun = Clock::now();
    let Some((source, order, fresh)) = begin(&asked, &context).await? else {
        return Ok(BackfillReport::default());
    };
    let jobs = Jobs::new(asked.buckets.store(), &context);
    let until = Instant::now() + patience(asked.buckets.store());
    let transaction = transaction(asked.buckets, until, &context).await?;
    let job = loop {
        let stored = jobs.stored(&fresh).await?;
        let is_new = stored.is_none();
        let job = job_of(stored, fresh.clone(), &order, &context)?;
        if job.is_done() {
            return Ok(BackfillReport::of(job.counts()));
        }
        if is_new {
            jobs.add(&fresh).await?;
            continue;
        }
        if let Some(job) = jobs.claim(job).await? {
            break job;
        }
    };
    let mut running = Running {
        reader: Reader::new(&source, &order),
        pace: pace(asked.throttle),
        report: BackfillReport::default(),
        expected: source.expected().await?,
        begun,
        read: 0,
        throttle: asked.throttle,
        on_progress,
        storing: Storing::new(
            asked.buckets,
            &order,
            Reading::new(asked.ignored.iter().cloned()),
            (jobs, job, transaction),
            &context,
        ),
    };
    let ended = running.walk().await;
    // An error of the walk says more.
    let forgotten = running.storing.end().await;
    let counts = running.storing.job.counts();
    if let Err(error) = ended.and(forgotten) {
        let is_taken_over = matches!(error.kind(), ErrorKind::TakenOver { .. });
        return Err(if is_taken_over {
            error
        } else {
            error.backfilled_in_part(counts.read, &context)
        });
    }
    let report = BackfillReport {
        rejects: running.report.rejects,
        chunks: running.report.chunks,
        took: begun.elapsed(),
        ..BackfillReport::of(counts)
    };
    tracing::debug!(
        target: trace::WRITE,
        read = report.read,
        stored = report.stored,
        duplicates = report.duplicates,
        rejected = report.rejected,
        chunks = report.chunks,
        "backfill_from",
    );
    Ok(report)
}

/// With a throttle, a chunk is at most what it allows in a second.
fn pace(throttle: Option<NonZeroU32>) -> Pace {
    Pace::at_most(throttle.and_then(|most| usize::try_from(most.get()).ok()))
}

struct Running<'s, 'c, 'a, T: Record> {
    reader: Reader<'s, 'c>,
    pace: Pace,
    report: BackfillReport,
    expected: u64,
    begun: Clock,
    /// The documents of this run.
    read: u64,
    throttle: Option<NonZeroU32>,
    on_progress: Option<OnProgress<'a>>,
    storing: Storing<'s, T>,
}

impl<T: Record + DeserializeOwned> Running<'_, '_, '_, T> {
    async fn walk(&mut self) -> Result<()> {
        let position = self.storing.job.position().clone();
        let mut next = self.reader.chunk(&position, self.pace.documents()).await?;
        loop {
            let begun = Clock::now();
            let after = next.next.clone();
            let most = self.pace.documents();
            let (storing, pace, reader) = (&mut self.storing, &mut self.pace, &mut self.reader);
            let reading = async {
                match after.pass {
                    Pass::Done => None,
                    _ => Some(reader.chunk(&after, most).await),
                }
            };
            let (stored, following) = join(storing.store(next, pace), reading).await;
            let stored = stored?;
            self.read += stored.read;
            self.report.chunks += 1;
            self.report.keep(stored.rejects);
            self.tell();
            let Some(following) = following else {
                return Ok(());
            };
            next = following?;
            sleep(pause(self.throttle, stored.read, begun.elapsed())).await;
        }
    }

    fn tell(&mut self) {
        if let Some(tell) = &mut self.on_progress {
            let counts = self.storing.job.counts();
            let time = self.begun.elapsed();
            tell(&BackfillProgress::of(
                counts,
                self.expected,
                self.read,
                time,
            ));
        }
    }
}

/// The pause after a chunk of this number of documents that took this time. A chunk that took longer is not made up for.
fn pause(throttle: Option<NonZeroU32>, read: u64, took: Duration) -> Duration {
    let Some(most) = throttle else {
        return Duration::ZERO;
    };
    #[expect(clippy::cast_precision_loss, reason = "a pause need not be exact")]
    let time = Duration::try_from_secs_f64(read as f64 / f64::from(most.get()));
    time.unwrap_or(Duration::ZERO).saturating_sub(took)
}

#[cfg(test)]
mod tests {
    use std::{num::NonZeroU32, time::Duration};

    use super::pause;

    #[test]
    fn the_throttle_makes_up_for_no_stall() {
        let most = NonZeroU32::new(250);
        let millis = Duration::from_millis;
        assert_eq!(pause(most, 500, millis(300)), millis(1_700));
        // After a stall the next chunk has its own time again.
        assert_eq!(pause(most, 250, millis(3_500)), Duration::ZERO);
        assert_eq!(pause(most, 250, millis(100)), millis(900));
        assert_eq!(pause(None, 250, millis(100)), Duration::ZERO);
    }
}
