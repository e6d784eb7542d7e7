//! The walk over buckets that become one.

mod groups;
mod sending;

use std::{pin::pin, time::Duration};

use bucket_core::{
    Record,
    seal::{Grouping, MergeDue},
};
use mongodb::bson::DateTime;
use tokio::{
    select,
    time::{Instant, timeout},
};

use self::{groups::Groups, sending::Sending};
use super::{MergeReport, asked::Asked, packing::Ended, watcher::Watcher};
use crate::{
    Error, Result,
    action::edit::passes,
    error::{Context, ReadFault},
    trace,
};

/// How long buckets have been sealed before they are merged, if the call does not say it.
const SETTLED: Duration = Duration::from_secs(3_600);

/// The error of a model whose sealed buckets stay what they are.
pub(super) const MERGES_NONE: &str = "the sealed buckets of this model stay what they are: write \
    `seal_after = \"1d\", merge = \"week\"` beside the `window` or the `max_duration` of the struct";

/// A call at work.
pub(super) struct Merging<'a, T: Record> {
    groups: Groups<'a, T>,
    settled: Option<Duration>,
    report: MergeReport,
}

impl<'a, T: Record> Merging<'a, T> {
    pub(super) fn new(settled: Option<Duration>, asked: Asked<'a, T>) -> Self {
        let context = match &asked.key {
            Some(key) => Context::of::<T>("merge", key),
            None => Context::of_all::<T>("merge"),
        };
        Self {
            groups: Groups::new(asked, context),
            settled,
            report: MergeReport::default(),
        }
    }

    /// Walks to the end.
    pub(super) async fn run(mut self) -> Result<MergeReport> {
        self.walk(Watcher::default()).await?;
        self.trace("merge");
        Ok(self.report)
    }

    /// Walks until the end, or until the watcher stops it: never between the begin of a transaction and its end.
    pub(super) async fn walk(&mut self, mut watcher: Watcher<'_>) -> Result<Ended> {
        let groups = &self.groups;
        if groups.asked.range.is_reversed() {
            return Err(groups.invalid("the time range ends before it starts"));
        }
        let settled = self.settled.unwrap_or(SETTLED).as_millis();
        let settled = i64::try_from(settled).unwrap_or(i64::MAX);
        let due = MergeDue::after(T::SPEC, settled, DateTime::now());
        let due = due.ok_or_else(|| groups.invalid(MERGES_NONE))?;
        groups.check_server().await?;
        select! {
            () = watcher.stopped() => return Ok(Ended::Stopped),
            checked = groups.asked.check_collection(&groups.context) => checked?,
        }
        // Until when it begins again after errors that pass; `None` since a bucket has come.
        let mut patience = None;
        loop {
            match self.pass(due, &mut watcher, &mut patience).await? {
                Ok(ended) => return Ok(ended),
                Err(error) => {
                    let until = *patience.get_or_insert_with(|| self.groups.patience());
                    select! {
                        () = watcher.stopped() => return Ok(Ended::Stopped),
                        passed = passes(error, until) => passed?,
                    }
                    self.forget_what_comes_again();
                }
            }
        }
    }

    /// A pass that begins again meets those buckets once more of which nothing was changed.
    fn forget_what_comes_again(&mut self) {
        self.report.stay = 0;
        self.report.changed = 0;
        if self.groups.asked.is_dry {
            self.report = MergeReport::default();
        }
    }

    /// Takes all buckets from the beginning; the inner error is that of a read.
    async fn pass(
        &mut self,
        due: MergeDue,
        watcher: &mut Watcher<'_>,
        patience: &mut Option<Instant>,
    ) -> Result<Result<Ended>> {
        let mut sending = Sending::new(&self.groups, &mut self.report);
        let passed = feed(&mut sending, due, watcher, patience).await;
        let sent = sending.end(watcher).await;
        let passed = passed?;
        sent.and(Ok(passed))
    }

    /// The event that ends a call, or a round of a sealer.
    pub(super) fn trace(&self, operation: &str) {
        let MergeReport {
            buckets,
            merged,
            records,
            stay,
            changed,
            ..
        } = self.report;
        tracing::debug!(
            target: trace::WRITE, buckets, merged, records, stay, missed = changed, "{operation}"
        );
    }
}

/// Reads the buckets and passes on what they become.
async fn feed<T: Record>(
    sending: &mut Sending<'_, '_, T>,
    due: MergeDue,
    watcher: &mut Watcher<'_>,
    patience: &mut Option<Instant>,
) -> Result<Result<Ended>> {
    let groups = sending.groups;
    let longest = groups.asked.buckets.store().deadline();
    let late = || Error::read(ReadFault::Late, &groups.context);
    let opened = select! {
        () = watcher.stopped() => return Ok(Ok(Ended::Stopped)),
        opened = timeout(longest, groups.open(&due)) => opened,
    };
    let mut rows = match opened.unwrap_or_else(|_| Err(late())) {
        Ok(rows) => rows,
        Err(error) => return Ok(Err(error)),
    };
    let mut grouping = Grouping::new(T::SPEC, due);
    loop {
        let next = {
            let mut next = pin!(timeout(longest, rows.next(&|_| 0)));
            loop {
                select! {
                    () = watcher.stopped() => return Ok(Ok(Ended::Stopped)),
                    sent = sending.one(), if sending.is_at_work() => sent?,
                    next = &mut next => break next.unwrap_or(Err(ReadFault::Late)),
                }
                watcher.merged(sending.report);
            }
        };
        let (complete, is_end) = match next {
            Ok(Some(stored)) => (grouping.take::<T>(stored), false),
            Ok(None) => (grouping.end(), true),
            Err(fault) => return Ok(Err(Error::read(fault, &groups.context))),
        };
        *patience = None;
        for group in complete {
            sending.take(group).await?;
        }
        while !sending.begin(is_end) {
            select! {
                () = watcher.stopped() => return Ok(Ok(Ended::Stopped)),
                sent = sending.one() => sent?,
            }
            watcher.merged(sending.report);
        }
        if is_end {
            return Ok(Ok(Ended::Whole));
        }
    }
}
