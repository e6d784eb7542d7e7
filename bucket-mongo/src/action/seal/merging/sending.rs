//! The transactions of a walk, some at a time.

use std::time::Duration;

use bucket_core::{Record, seal::MergeGroup};
use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use tokio::time::{Instant, sleep_until};

use super::groups::{Groups, Made};
use crate::{
    Result,
    action::seal::{MergeReport, watcher::Watcher},
};

/// The most merges of a transaction: it keeps what it changes in memory, and others from it.
const TOGETHER: usize = 50;
/// The transactions at a time: the server works on one while the client packs what another one has read.
const AT_ONCE: usize = 2;
/// A pause is not longer: the sum of it and any time is one.
const LONGEST: Duration = Duration::from_secs(30 * 365 * 86_400);

/// What a walk has found, on its way to the server.
pub(super) struct Sending<'g, 'a, T: Record> {
    pub(super) groups: &'g Groups<'a, T>,
    pub(super) report: &'g mut MergeReport,
    ready: Vec<MergeGroup>,
    at_work: FuturesUnordered<BoxFuture<'g, Result<Made>>>,
    /// The end of the pause after the last transaction.
    paused_until: Instant,
}

impl<'g, 'a, T: Record> Sending<'g, 'a, T> {
    pub(super) fn new(groups: &'g Groups<'a, T>, report: &'g mut MergeReport) -> Self {
        Self {
            groups,
            report,
            ready: Vec::new(),
            at_work: FuturesUnordered::new(),
            paused_until: Instant::now(),
        }
    }

    /// Keeps a group for the next transaction.
    pub(super) async fn take(&mut self, group: MergeGroup) -> Result<()> {
        if group.undated {
            self.report.dated += self.groups.date(&group).await?;
        } else {
            self.ready.push(group);
        }
        Ok(())
    }

    pub(super) fn is_at_work(&self) -> bool {
        !self.at_work.is_empty()
    }

    /// Begins transactions with what is ready. Returns whether the walk can go on; at its end, whether all is done.
    pub(super) fn begin(&mut self, is_end: bool) -> bool {
        // A pause is one between two transactions.
        let most = if self.groups.asked.pause.is_zero() {
            AT_ONCE
        } else {
            1
        };
        let enough = if is_end { 1 } else { TOGETHER };
        while self.ready.len() >= enough
            && self.at_work.len() < most
            && self.paused_until <= Instant::now()
        {
            let next = self.ready.drain(..self.ready.len().min(TOGETHER));
            let merging = self.groups.merge(next.collect());
            self.at_work.push(merging.boxed());
        }
        self.ready.len() < enough && !(is_end && self.is_at_work())
    }

    /// Waits for the end of one of them, or of the pause. To drop this loses nothing.
    pub(super) async fn one(&mut self) -> Result<()> {
        if let Some(made) = self.at_work.next().await {
            self.paused_until = Instant::now() + self.groups.asked.pause.min(LONGEST);
            let made = made?;
            self.report.goes_on(&made.report);
            // What would have been too much for one transaction.
            self.ready.extend(made.rest);
        } else {
            sleep_until(self.paused_until).await;
        }
        Ok(())
    }

    /// Waits for the end of all that have begun.
    pub(super) async fn end(mut self, watcher: &Watcher<'_>) -> Result<()> {
        let mut ended = Ok(());
        while self.is_at_work() {
            ended = ended.and(self.one().await);
        }
        watcher.merged(self.report);
        ended
    }
}
