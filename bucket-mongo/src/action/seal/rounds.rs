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
    packing::{self, Asked, Ended, Packing, What},
    watcher::{Totals, Watcher},
};
use crate::{Buckets, Error, ErrorKind, Result, backoff, error::Context, trace, writer::Settings};

/// How often a round looks at the whole collection: it seals what is late in old windows.
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
    pub(super) settings: Settings,
}

/// The rounds of a sealer.
pub(super) struct Rounds<T: Record> {
    order: Order<T>,
    stop: watch::Receiver<bool>,
    totals: Arc<Totals>,
    /// The newest round over the whole collection that nothing has interrupted.
    whole: Option<Instant>,
    /// Everything that was due at this time is sealed, but for what came late.
    until: Option<DateTime>,
}

impl<T: Record> Rounds<T> {
    pub(super) fn new(order: Order<T>, stop: watch::Receiver<bool>, totals: Arc<Totals>) -> Self {
        Self {
            order,
            stop,
            totals,
            whole: None,
            until: None,
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

    /// Seals what has become due.
    async fn round(&mut self) -> Result<()> {
        let now = DateTime::now();
        let range = self.range();
        let mut packing = Packing::new(Asked {
            buckets: &self.order.buckets,
            what: What::Seal(self.order.after),
            key: None,
            range,
            is_dry: false,
            pause: self.order.pause,
            settings: self.order.settings.clone(),
        });
        let watcher = Watcher::new(self.stop.clone(), &self.totals);
        let ended = packing.walk(watcher).await?;
        packing.trace("sealer");
        if ended != Ended::Whole {
            return Ok(());
        }
        let report = packing.into_report();
        // What others have changed meanwhile may still be due.
        if report.changed == 0 {
            // `start` has checked that there is such a time.
            let after = packing::after::<T>(self.order.after).unwrap_or_default();
            let until = now.timestamp_millis().saturating_sub(after);
            self.until = Some(DateTime::from_millis(until));
        }
        if range == TimeRange::ALL {
            self.whole = Some(Instant::now());
            self.totals.lock().ended.left(report);
        }
        Ok(())
    }

    /// The span of time whose buckets can be due and were not in the round before. Only windows have an index that leads
    /// to those.
    fn range(&self) -> TimeRange {
        let is_recent = self.whole.is_some_and(|whole| whole.elapsed() < WHOLE);
        match self.until {
            Some(until) if is_recent && T::SPEC.span_index_name().is_some() => {
                (until..).into_time_range()
            }
            _ => TimeRange::ALL,
        }
    }

    fn end(&self, ended: Result<()>) {
        let mut sums = self.totals.lock();
        let round = std::mem::take(&mut sums.round);
        let report = &mut sums.ended;
        report.add(&round);
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
