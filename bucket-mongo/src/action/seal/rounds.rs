//! The task of a sealer: one round after the other.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use bucket_core::{IntoTimeRange, Record, TimeRange};
use futures_util::FutureExt;
use mongodb::bson::DateTime;
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};
use tracing::Instrument;

use super::{
    asked::Asked,
    merging::Merging,
    packing::{self, Ended, Packing, What},
    watcher::{Totals, Watcher},
};
use crate::{Buckets, Error, ErrorKind, Result, backoff, error::Context, trace, writer::Settings};

/// How often a round looks at the whole collection: it finds what is late in old windows.
const WHOLE: Duration = Duration::from_secs(24 * 3_600);
/// The longest time before the first round, in milliseconds, so that sealers that are started together do not begin together.
const FIRST: u64 = 2_000;

/// What a sealer was asked for.
#[derive(Debug)]
pub(super) struct Order<T: Record> {
    pub(super) buckets: Buckets<T>,
    pub(super) every: Duration,
    pub(super) after: Option<Duration>,
    pub(super) pause: Duration,
    /// Records go that have expired.
    pub(super) expires: bool,
    pub(super) settings: Settings,
}

/// How far the rounds are, of one kind of work.
#[derive(Debug, Default, Clone, Copy)]
struct Progress {
    /// The newest round over the whole collection that nothing has interrupted.
    whole: Option<Instant>,
    /// Everything that was due at this time is done, but for what came late.
    until: Option<DateTime>,
}

impl Progress {
    /// The span of time whose buckets can be due and were not in the round before. Only windows have an index that leads
    /// to those.
    fn range<T: Record>(&self) -> TimeRange {
        let is_recent = self.whole.is_some_and(|whole| whole.elapsed() < WHOLE);
        match self.until {
            Some(until) if is_recent && T::SPEC.span_index_name().is_some() => {
                (until..).into_time_range()
            }
            _ => TimeRange::ALL,
        }
    }
}

/// The rounds of a sealer.
pub(super) struct Rounds<T: Record> {
    order: Order<T>,
    stop: watch::Receiver<bool>,
    totals: Arc<Totals>,
    sealing: Progress,
    expiring: Progress,
}

impl<T: Record> Rounds<T> {
    pub(super) fn new(order: Order<T>, stop: watch::Receiver<bool>, totals: Arc<Totals>) -> Self {
        Self {
            order,
            stop,
            totals,
            sealing: Progress::default(),
            expiring: Progress::default(),
        }
    }

    pub(super) async fn run(mut self) {
        let every = u64::try_from(self.order.every.as_millis()).unwrap_or(u64::MAX);
        let mut pause = backoff::spread(FIRST.min(every));
        while !self.is_stopped_within(pause).await {
            let collection = T::SPEC.collection();
            let span = tracing::debug_span!(target: trace::WRITE, "sealer", collection);
            // The limits of a key are code of the caller. If it panics, the round ends.
            let round = AssertUnwindSafe(self.round().instrument(span)).catch_unwind();
            let ended = round.await.unwrap_or_else(|_| Err(panicked::<T>()));
            self.end(ended);
            pause = backoff::spread(every);
        }
    }

    /// Waits. Returns early, and true, if it is to stop.
    async fn is_stopped_within(&mut self, pause: Duration) -> bool {
        let stopped = self.stop.wait_for(|stopped| *stopped);
        timeout(pause, stopped).await.is_ok()
    }

    /// Does what has become due.
    async fn round(&mut self) -> Result<()> {
        let now = DateTime::now();
        if self.order.expires {
            let until = T::SPEC.expired_before(now).unwrap_or(now);
            self.expiring = self.walk(What::Expire, until, self.expiring).await?;
        }
        // `start` has checked that there is something to do.
        let Ok(after) = packing::after::<T>(self.order.after) else {
            return Ok(());
        };
        let until = now.timestamp_millis().saturating_sub(after);
        let until = DateTime::from_millis(until);
        let what = What::Seal(self.order.after);
        self.sealing = self.walk(what, until, self.sealing).await?;
        if T::SPEC.merge().is_some() {
            self.merge().await?;
        }
        Ok(())
    }

    /// Merges what has been sealed for long enough, also what came late: the walk reads no items.
    async fn merge(&self) -> Result<()> {
        let mut merging = Merging::new(None, self.asked(TimeRange::ALL));
        let watcher = Watcher::new(self.stop.clone(), &self.totals);
        merging.walk(watcher).await?;
        merging.trace("sealer");
        Ok(())
    }

    fn asked(&self, range: TimeRange) -> Asked<'_, T> {
        Asked {
            range,
            pause: self.order.pause,
            settings: self.order.settings.clone(),
            ..Asked::new(&self.order.buckets)
        }
    }

    /// Walks over the buckets that have not been looked at since they were due. Everything that is due until `until` is
    /// among them.
    async fn walk(&self, what: What, until: DateTime, mut progress: Progress) -> Result<Progress> {
        let range = progress.range::<T>();
        let mut packing = Packing::new(what, self.asked(range));
        let watcher = Watcher::new(self.stop.clone(), &self.totals);
        let ended = packing.walk(watcher).await?;
        packing.trace("sealer");
        if ended != Ended::Whole {
            return Ok(progress);
        }
        let report = packing.into_report();
        // What others have changed meanwhile may still be due.
        if report.changed == 0 {
            progress.until = Some(until);
        }
        if range == TimeRange::ALL {
            progress.whole = Some(Instant::now());
            self.totals.lock().ended.left(report);
        }
        Ok(progress)
    }

    fn end(&self, ended: Result<()>) {
        let mut sums = self.totals.lock();
        let (round, expiring, merging) = (
            std::mem::take(&mut sums.round),
            std::mem::take(&mut sums.expiring),
            std::mem::take(&mut sums.merging),
        );
        let report = &mut sums.ended;
        report.add(&round, &expiring, &merging);
        report.rounds += 1;
        report.failed_rounds += u64::from(ended.is_err());
        report.last_error = ended.err();
    }
}

fn panicked<T: Record>() -> Error {
    let message = "the function that gives the limits of a key panicked".to_owned();
    let kind = ErrorKind::OutcomeUnknown { message };
    Error::new(kind, &Context::of_all::<T>("seal"))
}
