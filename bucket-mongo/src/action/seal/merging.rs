//! The walk over sealed buckets that become one, and its transactions.

use std::{mem, time::Duration};

use bucket_core::{
    Record,
    read::ReadKey,
    seal::{self, Grouping, MergeDue, MergeGroup},
    write::codes::WRITE_CONFLICT,
};
use mongodb::bson::{self, DateTime, Document, RawDocumentBuf, doc};
use tokio::{
    select,
    time::{Instant, sleep, timeout},
};

use super::{MergeReport, asked::Asked, packing::Ended, watcher::Watcher};
use crate::{
    Error, ErrorKind, Result,
    action::{
        edit::{Editing, Sent, Transaction, deadline, passes},
        scan,
    },
    error::{Context, ReadFault},
    read::{ReadOptions, Rows},
    trace,
    writer::Settings,
};

/// How long buckets have been sealed before they are merged, if the call does not say it.
const SETTLED: Duration = Duration::from_secs(3_600);
/// The most merges of a transaction, and the bytes of buckets that it is full with: it keeps what it changes in memory, and others
/// from it.
const TOGETHER: usize = 50;
const MOST_BYTES: u64 = 8 * 1024 * 1024;

/// The error of a model whose sealed buckets stay what they are.
pub(super) const MERGES_NONE: &str = "the sealed buckets of this model stay what they are: write \
    `#[bucket(window = \"1h\", seal_after = \"1d\", merge = \"week\")]` on the struct";
const TAKES_NONE: &str = "merging buckets needs transactions and reads of a snapshot: a replica set or a sharded cluster with \
    MongoDB 5.0 or later";

/// A call at work.
pub(super) struct Merging<'a, T: Record> {
    asked: Asked<'a, T>,
    settled: Option<Duration>,
    context: Context,
    /// When the whole call ends, if it was given a deadline.
    until: Option<Instant>,
    report: MergeReport,
    /// What the next transaction merges.
    ready: Vec<MergeGroup>,
}

/// What one transaction has merged.
struct Made {
    merges: Vec<seal::Merge>,
    /// The number of groups that it has read: those after them would have been too much for it.
    groups: usize,
    /// The number of buckets that it has left as they are.
    stay: u64,
}

impl<'a, T: Record> Merging<'a, T> {
    pub(super) fn new(settled: Option<Duration>, asked: Asked<'a, T>) -> Self {
        let context = match &asked.key {
            Some(key) => Context::of::<T>("merge", key),
            None => Context::of_all::<T>("merge"),
        };
        let deadline = asked.settings.deadline;
        Self {
            context,
            until: deadline.and_then(|deadline| Instant::now().checked_add(deadline)),
            report: MergeReport::default(),
            ready: Vec::new(),
            settled,
            asked,
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
        if self.asked.range.is_reversed() {
            return Err(self.invalid("the time range ends before it starts"));
        }
        let settled = self.settled.unwrap_or(SETTLED).as_millis();
        let settled = i64::try_from(settled).unwrap_or(i64::MAX);
        let due = MergeDue::after(T::SPEC, settled, DateTime::now());
        let due = due.ok_or_else(|| self.invalid(MERGES_NONE))?;
        self.check_server().await?;
        select! {
            () = watcher.stopped() => return Ok(Ended::Stopped),
            checked = self.asked.check_collection(&self.context) => checked?,
        }
        // Until when it begins again after errors that pass; `None` since a bucket has come.
        let mut patience = None;
        loop {
            match self.pass(due, &mut watcher, &mut patience).await? {
                Ok(ended) => return Ok(ended),
                Err(error) => {
                    let until = *patience.get_or_insert_with(|| self.patience());
                    select! {
                        () = watcher.stopped() => return Ok(Ended::Stopped),
                        passed = passes(error, until) => passed?,
                    }
                    self.forget_what_comes_again();
                }
            }
        }
    }

    /// Refuses a server on which reads could miss what is merged.
    async fn check_server(&self) -> Result<()> {
        let mut options = ReadOptions::default();
        options.terms.deadline = Some(self.patience().saturating_duration_since(Instant::now()));
        options.begin(&self.context).await?;
        let store = self.asked.buckets.store();
        loop {
            match store.has_moments(&options.terms).await {
                Ok(true) => return Ok(()),
                Ok(false) => return Err(self.invalid(TAKES_NONE)),
                Err(fault) => {
                    passes(Error::read(fault, &self.context), self.patience()).await?;
                }
            }
        }
    }

    /// A pass that begins again meets those buckets once more of which nothing was changed.
    fn forget_what_comes_again(&mut self) {
        self.ready.clear();
        self.report.stay = 0;
        if self.asked.is_dry {
            self.report = MergeReport::default();
        }
    }

    /// Until when a read is tried, or a transaction.
    fn patience(&self) -> Instant {
        let own = || deadline(self.asked.buckets, &self.asked.settings);
        self.until.unwrap_or_else(own)
    }

    /// Takes all buckets from the beginning; the inner error is that of a read.
    async fn pass(
        &mut self,
        due: MergeDue,
        watcher: &mut Watcher<'_>,
        patience: &mut Option<Instant>,
    ) -> Result<Result<Ended>> {
        let longest = self.asked.buckets.store().deadline();
        let opened = select! {
            () = watcher.stopped() => return Ok(Ok(Ended::Stopped)),
            opened = timeout(longest, self.open(&due)) => opened,
        };
        let late = || Error::read(ReadFault::Late, &self.context);
        let mut rows = match opened.unwrap_or_else(|_| Err(late())) {
            Ok(rows) => rows,
            Err(error) => return Ok(Err(error)),
        };
        let mut grouping = Grouping::new(T::SPEC, due);
        loop {
            let next = select! {
                () = watcher.stopped() => return Ok(Ok(Ended::Stopped)),
                next = timeout(longest, rows.next(&|_| 0)) => next.unwrap_or(Err(ReadFault::Late)),
            };
            let (groups, is_end) = match next {
                Ok(Some(stored)) => (grouping.take::<T>(stored), false),
                Ok(None) => (grouping.end(), true),
                Err(fault) => return Ok(Err(Error::read(fault, &self.context))),
            };
            *patience = None;
            for group in groups {
                self.take(group).await?;
                if self.ready.len() >= TOGETHER {
                    self.send().await?;
                    watcher.merged(&self.report);
                    select! {
                        () = watcher.stopped() => return Ok(Ok(Ended::Stopped)),
                        () = sleep(self.asked.pause) => {}
                    }
                }
            }
            if is_end {
                self.send().await?;
                watcher.merged(&self.report);
                return Ok(Ok(Ended::Whole));
            }
        }
    }

    async fn open<'r>(&self, due: &MergeDue) -> Result<Rows<'r>> {
        let Asked { key, range, .. } = &self.asked;
        let key = key.as_ref().map(ReadKey::of::<T>);
        let plan = seal::buckets_to_merge(T::SPEC, key.as_ref(), *range, due);
        let store = self.asked.buckets.store();
        scan::open_to_change(store, plan, None, self.until, &self.context).await
    }

    /// Keeps a group for the next transaction.
    async fn take(&mut self, group: MergeGroup) -> Result<()> {
        if !group.undated {
            self.ready.push(group);
            return Ok(());
        }
        let now = DateTime::now();
        let found = self.editing()?.read(group.find(T::SPEC)).await?;
        let dated = found.iter().filter_map(|stored| seal::dated(stored, now));
        self.date(dated.collect()).await
    }

    /// Lets buckets say since when they are sealed.
    async fn date(&mut self, updates: Vec<Document>) -> Result<()> {
        let number = updates.len();
        if number == 0 {
            return Ok(());
        }
        if self.asked.is_dry {
            self.report.dated += u64::try_from(number).unwrap_or(u64::MAX);
            return Ok(());
        }
        let command = doc! {
            "update": T::SPEC.collection(), "ordered": false, "updates": updates,
        };
        let invalid = |source: bson::error::Error| self.invalid(&source.to_string());
        let command = RawDocumentBuf::try_from(&command).map_err(invalid)?;
        if let Sent::Made(made) = self.editing()?.send(command, number).await? {
            self.report.dated += made;
        }
        Ok(())
    }

    /// Merges what is ready. If other writers change one of the buckets, the others are merged without those.
    async fn send(&mut self) -> Result<()> {
        let ready = mem::take(&mut self.ready);
        let mut ready = ready.as_slice();
        while !ready.is_empty() {
            if let Some(made) = self.transact(ready).await? {
                ready = &ready[made.groups..];
                self.count(&made);
                continue;
            }
            for group in ready {
                match self.transact(std::slice::from_ref(group)).await? {
                    Some(made) => self.count(&made),
                    None => self.report.changed += group.buckets(),
                }
            }
            break;
        }
        Ok(())
    }

    fn count(&mut self, made: &Made) {
        let report = &mut self.report;
        report.stay += made.stay;
        for merge in &made.merges {
            report.buckets += merge.buckets;
            report.merged += 1;
            report.records += merge.records;
            report.bytes_before += merge.before;
            report.bytes_after += merge.after;
        }
    }

    /// Merges the first of these groups in one transaction, as many as it takes. `None` if another writer changes one of the buckets
    /// meanwhile: then nothing is changed.
    async fn transact(&self, groups: &[MergeGroup]) -> Result<Option<Made>> {
        if self.asked.is_dry {
            return Ok(Some(self.put_together(&mut self.editing()?, groups).await?));
        }
        let buckets = self.asked.buckets;
        let (store, concern) = (buckets.store(), self.asked.settings.write_concern.as_ref());
        let concern = concern.unwrap_or(store.write_concern());
        let place = (store.database(), T::SPEC.collection());
        let deadline = self.patience();
        let transaction =
            Transaction::new(place, Some(concern), deadline, self.context.clone()).await?;
        let mut transaction = transaction.ok_or_else(|| self.invalid(TAKES_NONE))?;
        loop {
            transaction.begin().await?;
            let made = self.made_in(&mut transaction, groups).await;
            // Nothing is changed.
            if matches!(&made, Ok(None))
                || matches!(&made, Ok(Some(made)) if made.merges.is_empty())
            {
                transaction.give_up().await;
                return made;
            }
            if let Some(made) = transaction.end(made).await? {
                return Ok(made);
            }
        }
    }

    /// Reads the groups and sends their merges, in a transaction that has begun.
    async fn made_in(
        &self,
        transaction: &mut Transaction,
        groups: &[MergeGroup],
    ) -> Result<Option<Made>> {
        let (buckets, context) = (self.asked.buckets, self.context.clone());
        let session = transaction.session();
        let editing = Editing::new(buckets, session, &Settings::default(), context)?;
        let mut editing = editing.until(self.patience());
        let made = self.put_together(&mut editing, groups).await?;
        if made.merges.is_empty() {
            return Ok(Some(made));
        }
        for (command, statements, documents) in seal::merge_commands(T::SPEC, &made.merges) {
            let changed = match editing.send(command, statements).await {
                Ok(sent) => sent.made(),
                Err(error) if error.code() == Some(WRITE_CONFLICT) => return Ok(None),
                Err(error) => return Err(error),
            };
            // Each is there at the moment of the transaction, so this would be a change of its shard key.
            if changed != documents {
                return Ok(None);
            }
        }
        Ok(Some(made))
    }

    /// Reads the buckets of these groups until they are enough, and packs what they become.
    async fn put_together(
        &self,
        editing: &mut Editing<'_, T>,
        groups: &[MergeGroup],
    ) -> Result<Made> {
        let mut made = Made {
            merges: Vec::new(),
            groups: 0,
            stay: 0,
        };
        let mut bytes = 0;
        for group in groups {
            let found = editing.read(group.find(T::SPEC)).await?;
            made.groups += 1;
            let Some(merge) = seal::merge::<T>(&found, DateTime::now()) else {
                made.stay += group.buckets();
                continue;
            };
            bytes += merge.before;
            made.merges.push(merge);
            if bytes >= MOST_BYTES {
                break;
            }
        }
        Ok(made)
    }

    fn editing(&self) -> Result<Editing<'a, T>> {
        let (buckets, context) = (self.asked.buckets, self.context.clone());
        let editing = Editing::new(buckets, None, &self.asked.settings, context)?;
        Ok(editing.until(self.patience()))
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

    fn invalid(&self, message: &str) -> Error {
        let message = message.to_owned();
        Error::new(ErrorKind::InvalidArgument { message }, &self.context)
    }
}
