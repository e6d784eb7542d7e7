//! Who may end a walk early, and who sees how far it is.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::{MergeReport, SealReport, SealerReport, seal_report::Done};

/// The owner of a walk, if it has one that may end it.
#[derive(Debug, Default)]
pub(super) struct Watcher<'w> {
    owner: Option<(watch::Receiver<bool>, &'w Totals)>,
}

impl<'w> Watcher<'w> {
    /// The walk ends at the next safe point once this says so, or once its sender is gone.
    pub(super) fn new(stop: watch::Receiver<bool>, totals: &'w Totals) -> Self {
        Self {
            owner: Some((stop, totals)),
        }
    }

    /// Whether a walk that meets another one leaves the rest to it: a call was asked for all.
    pub(super) fn leaves_the_rest(&self) -> bool {
        self.owner.is_some()
    }

    /// Ends once the walk is to end.
    pub(super) async fn stopped(&mut self) {
        match &mut self.owner {
            // An error says that nobody can stop it any more: whoever could has gone.
            Some((stop, _)) => drop(stop.wait_for(|stopped| *stopped).await),
            None => std::future::pending().await,
        }
    }

    /// A command was sent, and this is the report since the begin of the walk.
    pub(super) fn saw(&self, report: &SealReport) {
        if let Some((_, totals)) = &self.owner {
            let mut sums = totals.lock();
            match report.done {
                Done::Expired => sums.expiring = report.clone(),
                Done::Sealed | Done::Unsealed => sums.round = report.clone(),
            }
        }
    }

    /// A transaction of merges has ended, and this is the report since the begin of the walk.
    pub(super) fn merged(&self, report: &MergeReport) {
        if let Some((_, totals)) = &self.owner {
            totals.lock().merging = report.clone();
        }
    }
}

/// What a sealer has done so far.
#[derive(Debug, Default)]
pub(super) struct Totals(Mutex<Sums>);

#[derive(Debug, Default)]
pub(super) struct Sums {
    /// Of the rounds that have ended.
    pub(super) ended: SealerReport,
    /// Of the round at work: what it has sealed, of which buckets the records have expired, and what it has merged.
    pub(super) round: SealReport,
    pub(super) expiring: SealReport,
    pub(super) merging: MergeReport,
}

impl Totals {
    pub(super) fn lock(&self) -> MutexGuard<'_, Sums> {
        // No operation on them panics half-way.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sums, with those of the round at work.
    pub(super) fn report(&self) -> SealerReport {
        let sums = self.lock();
        let mut report = sums.ended.clone();
        report.add(&sums.round, &sums.expiring, &sums.merging);
        report
    }
}
