//! The walk over the buckets whose items move, and their statements.

use std::{collections::HashSet, time::Duration};

use bucket_core::{
    Record, TimeRange,
    archive::{self, Moving as Copied},
    read::{FindPlan, ReadKey},
    seal::{self, SealStatement},
    size,
};
use mongodb::bson::{Bson, DateTime, RawDocument, RawDocumentBuf, oid::ObjectId};
use tokio::time::{Instant, sleep, timeout};

use super::{ArchiveReport, Change, Copies, SetUp};
use crate::{
    Archive, Buckets, Error, ErrorKind, Result,
    action::{
        edit::{Editing, Sent, deadline, passes},
        scan,
    },
    error::{Context, ReadFault},
    read::Rows,
    trace,
    write_concern::durable,
    writer::Settings,
};

/// The most buckets of a command.
const TOGETHER: usize = 100;
/// The most bytes of buckets that are gathered for a command before one more.
const GATHERED: usize = size::MAX_COMMAND_BYTES / 2;

/// Takes what a call has moved so far.
pub(super) type OnProgress<'a> = Box<dyn FnMut(&ArchiveReport) + Send + 'a>;

/// What a call was asked for.
pub(super) struct Asked<'a, T: Record> {
    pub(super) buckets: &'a Buckets<T>,
    pub(super) archive: Archive,
    pub(super) what: What,
    pub(super) key: Option<T::Key>,
    pub(super) range: TimeRange,
    pub(super) is_dry: bool,
    pub(super) pause: Duration,
    pub(super) settings: Settings,
}

/// Where the items go.
#[derive(Debug, Clone, Copy)]
pub(super) enum What {
    /// Those of buckets whose last record is older than this go into the archive.
    Archive(Duration),
    Restore,
}

/// A bucket whose items were sent back.
struct Restored {
    bucket: Bson,
    /// The id of the copy.
    id: ObjectId,
    records: u64,
    bytes: u64,
}

/// A call at work.
pub(super) struct Moving<'a, T: Record> {
    asked: Asked<'a, T>,
    context: Context,
    copies: Copies,
    /// Statements of which it is not known whether they have restored their buckets for good.
    sent: Vec<Restored>,
    /// Copies that no bucket refers to, nor will: they are still to be removed.
    unneeded: Vec<ObjectId>,
    /// The names of the database and of the collection.
    of: String,
    /// When the whole call ends, if it was given a deadline.
    until: Option<Instant>,
    report: ArchiveReport,
}

impl<'a, T: Record> Moving<'a, T> {
    pub(super) fn new(asked: Asked<'a, T>) -> Self {
        let operation = match asked.what {
            What::Archive(_) => "archive_to",
            What::Restore => "restore_from",
        };
        let context = match &asked.key {
            Some(key) => Context::of::<T>(operation, key),
            None => Context::of_all::<T>(operation),
        };
        let store = asked.buckets.store();
        let patience = store.deadline();
        let deadline = asked.settings.deadline;
        Self {
            copies: Copies::new(
                &asked.archive.place(T::SPEC),
                store,
                deadline.map_or(patience, |deadline| deadline.min(patience)),
                context.clone(),
            ),
            sent: Vec::new(),
            unneeded: Vec::new(),
            of: store.namespace(),
            until: deadline.and_then(|deadline| Instant::now().checked_add(deadline)),
            report: ArchiveReport {
                is_restored: matches!(asked.what, What::Restore),
                ..ArchiveReport::default()
            },
            context,
            asked,
        }
    }

    pub(super) async fn run(
        mut self,
        mut on_progress: Option<OnProgress<'a>>,
    ) -> Result<ArchiveReport> {
        if self.asked.range.is_reversed() {
            let message = "the time range ends before it starts".to_owned();
            return Err(Error::new(
                ErrorKind::InvalidArgument { message },
                &self.context,
            ));
        }
        let mut is_set_up = false;
        // Until when it begins again after errors that pass; `None` since buckets have moved.
        let mut patience = None;
        loop {
            match self
                .attempt(&mut is_set_up, &mut patience, &mut on_progress)
                .await
            {
                Ok(()) => break,
                Err(error) if error.is_outcome_unknown() => return Err(error),
                Err(error) => {
                    let until = *patience.get_or_insert_with(|| self.patience());
                    if let Err(error) = passes(error, until).await {
                        // Nobody refers to them. What stays is harmless, and the first error says more.
                        drop(self.remove_unneeded().await);
                        return Err(error);
                    }
                    self.forget_what_comes_again();
                }
            }
        }
        let ArchiveReport {
            buckets,
            records,
            changed,
            damaged,
            ..
        } = self.report;
        let operation = self.context.operation;
        tracing::debug!(
            target: trace::WRITE, buckets, records, missed = changed, damaged, "{operation}"
        );
        Ok(self.report)
    }

    /// Until when a command is tried that fails now.
    fn patience(&self) -> Instant {
        let own = || deadline(self.asked.buckets, &self.asked.settings);
        self.until.unwrap_or_else(own)
    }

    /// A walk that begins again meets those buckets once more that stay as they are.
    fn forget_what_comes_again(&mut self) {
        if self.asked.is_dry {
            self.report = ArchiveReport {
                is_restored: self.report.is_restored,
                ..ArchiveReport::default()
            };
        }
        self.report.damaged = 0;
        self.report.damages.clear();
    }

    /// Takes all buckets from the beginning. Those that have moved are not among them.
    async fn attempt(
        &mut self,
        is_set_up: &mut bool,
        patience: &mut Option<Instant>,
        on_progress: &mut Option<OnProgress<'_>>,
    ) -> Result<()> {
        if !*is_set_up {
            self.set_up().await?;
            *is_set_up = true;
        }
        // What the attempt before has left.
        self.settle().await?;
        self.remove_unneeded().await?;
        let mut rows = self.in_time(self.open()).await?;
        loop {
            let gathered = self.gather(&mut rows).await?;
            let Some(found) = gathered else {
                return Ok(());
            };
            match self.asked.what {
                What::Archive(_) => self.archive(&found).await?,
                What::Restore => self.restore(&found).await?,
            }
            *patience = None;
            if let Some(tell) = on_progress {
                tell(&self.report);
            }
            if !self.asked.pause.is_zero() {
                sleep(self.asked.pause).await;
            }
        }
    }

    /// Refuses the collection of another model, and makes an archive of the place where the items go.
    async fn set_up(&self) -> Result<()> {
        let Asked {
            buckets, settings, ..
        } = &self.asked;
        let mut editing = Editing::new(buckets, None, settings, self.context.clone())?;
        self.in_time(editing.check_collection()).await?;
        if let What::Restore = self.asked.what {
            return Ok(());
        }
        let place = self.asked.archive.place(T::SPEC);
        let Some(copies) = place.collection() else {
            return Ok(());
        };
        let archive = SetUp::new(buckets.store(), copies, &self.context);
        self.in_time(archive.check()).await?;
        if self.asked.is_dry {
            return Ok(());
        }
        // Without a deadline it takes as long as the server builds indexes.
        let mirror = archive.mirror(Change::Create);
        match self.until {
            Some(_) => self.in_time(mirror).await?,
            None => mirror.await?,
        };
        Ok(())
    }

    /// Waits for a read, at most as long as a command may take.
    async fn in_time<R>(&self, read: impl Future<Output = Result<R>>) -> Result<R> {
        let patience = self.asked.buckets.store().deadline();
        let patience = match self.until {
            Some(until) => patience.min(until.saturating_duration_since(Instant::now())),
            None => patience,
        };
        let ended = timeout(patience, read).await;
        ended.unwrap_or_else(|_| Err(Error::read(ReadFault::Late, &self.context)))
    }

    async fn open<'r>(&self) -> Result<Rows<'r>> {
        let Asked { key, range, .. } = &self.asked;
        let key = key.as_ref().map(ReadKey::of::<T>);
        let plan = match self.asked.what {
            What::Archive(age) => {
                let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
                let until = DateTime::now().timestamp_millis().saturating_sub(age);
                let until = DateTime::from_millis(until);
                // A file has buckets of one key.
                let by_key = self.copies.are_files();
                archive::archivable_buckets(T::SPEC, key.as_ref(), *range, until, by_key)
            }
            What::Restore => {
                archive::archived_buckets(T::SPEC, key.as_ref(), *range, DateTime::now())
            }
        };
        let store = self.asked.buckets.store();
        let together = u32::try_from(TOGETHER).ok();
        scan::open_to_change(store, plan, together, self.until, &self.context).await
    }

    /// The buckets of the next command; `None` if there are no more.
    async fn gather(&self, rows: &mut Rows<'_>) -> Result<Option<Vec<RawDocumentBuf>>> {
        let (mut found, mut bytes) = (Vec::new(), 0);
        while found.len() < TOGETHER && bytes < GATHERED {
            let next = async {
                let next = rows.next(&|_| 0).await;
                let next = next.map_err(|fault| Error::read(fault, &self.context))?;
                Ok(next.map(RawDocument::to_owned))
            };
            let Some(stored) = self.in_time(next).await? else {
                break;
            };
            bytes += archive::full_size(T::SPEC, &stored);
            found.push(stored);
        }
        Ok((!found.is_empty()).then_some(found))
    }

    /// Moves the items of these into the archive.
    async fn archive(&mut self, found: &[RawDocumentBuf]) -> Result<()> {
        let mut moving = Vec::with_capacity(found.len());
        let mut new = self.copies.begin().await?;
        for stored in found {
            let id = new.id_of::<T>(stored);
            match archive::archive::<T>(stored, id, &self.of, DateTime::now(), new.until()) {
                Ok(Some(of)) => {
                    new.add(&of.copy);
                    moving.push(of);
                }
                Ok(None) => {}
                Err(damage) => self.report.damaged(damage),
            }
        }
        if moving.is_empty() {
            return Ok(());
        }
        if self.asked.is_dry {
            let all = moving.iter().map(|of| (&of.statement, of.statement.before));
            self.moved(all);
            return Ok(());
        }
        self.unneeded.extend(moving.iter().map(|of| of.id));
        self.copies.insert(new, &moving).await?;
        let copies = self.copies.of(moving.iter().map(|of| of.id)).await?;
        let (same, others): (Vec<Copied>, Vec<Copied>) = moving
            .into_iter()
            .partition(|of| copies.get(&of.id) == Some(&of.copy));
        // As soon as a statement is sent, buckets may refer to them.
        self.unneeded = others.iter().map(|of| of.id).collect();
        let sent = self.send(same.iter().map(|of| &of.statement)).await?;
        let referred = if sent == same.len() {
            same.iter().map(|of| of.id).collect()
        } else {
            self.referred(same.iter().map(|of| of.bucket.clone()).collect())
                .await?
        };
        let (moved, stay): (Vec<&Copied>, Vec<&Copied>) =
            same.iter().partition(|of| referred.contains(&of.id));
        let all = moved.iter().map(|of| (&of.statement, of.statement.before));
        self.moved(all);
        self.report.changed += number(stay.len() + others.len());
        self.unneeded.extend(stay.into_iter().map(|of| of.id));
        self.remove_unneeded().await?;
        if others.is_empty() {
            return Ok(());
        }
        let message = "the archive does not give back what was written to it".to_owned();
        Err(Error::new(
            ErrorKind::InvalidArgument { message },
            &self.context,
        ))
    }

    /// Moves the items of these back.
    async fn restore(&mut self, found: &[RawDocumentBuf]) -> Result<()> {
        let referring = |stored: &RawDocumentBuf| archive::copy_of(T::SPEC, stored);
        let copies = self.copies.of(found.iter().filter_map(referring)).await?;
        let (mut statements, mut sent) = (Vec::new(), Vec::new());
        for stored in found {
            let Some(id) = referring(stored) else {
                if archive::is_archived(T::SPEC, stored) {
                    let damage = archive::without_reference(stored);
                    self.report.damaged(damage);
                }
                continue;
            };
            let copy = copies.get(&id).map(|copy| &**copy);
            match archive::restore::<T>(stored, copy) {
                Ok(Some(statement)) => {
                    sent.extend(bucket_id(stored).map(|bucket| Restored {
                        bucket,
                        id,
                        records: statement.records,
                        bytes: statement.after,
                    }));
                    statements.push(statement);
                }
                Ok(None) => {}
                Err(damage) => self.report.damaged(damage),
            }
        }
        if statements.is_empty() {
            return Ok(());
        }
        if self.asked.is_dry {
            self.moved(statements.iter().map(|of| (of, of.after)));
            return Ok(());
        }
        self.sent = sent;
        self.send(&statements).await?;
        self.settle().await?;
        self.remove_unneeded().await
    }

    /// Looks which of the buckets refer to their copies no more. A failover can take a statement back, as long as no majority
    /// has it.
    async fn settle(&mut self) -> Result<()> {
        if self.sent.is_empty() {
            return Ok(());
        }
        let buckets = self.sent.iter().map(|of| of.bucket.clone());
        let referred = self.referred(buckets.collect()).await?;
        for of in self.sent.drain(..) {
            if referred.contains(&of.id) {
                self.report.changed += 1;
                continue;
            }
            self.report.buckets += 1;
            self.report.records += of.records;
            self.report.bytes += of.bytes;
            self.unneeded.push(of.id);
        }
        Ok(())
    }

    async fn remove_unneeded(&mut self) -> Result<()> {
        self.copies.remove_unneeded(&self.unneeded).await?;
        self.unneeded.clear();
        Ok(())
    }

    /// Sends these; returns how many of them have changed their bucket.
    #[expect(
        single_use_lifetimes,
        reason = "anonymous ones in `impl Trait` are unstable"
    )]
    async fn send<'s>(
        &self,
        statements: impl IntoIterator<Item = &'s SealStatement>,
    ) -> Result<usize> {
        let mut sent = 0;
        for together in in_commands(statements.into_iter().collect()) {
            let command = seal::command(T::SPEC, together.iter().copied());
            if let Sent::Made(made) = self.editing()?.send(command, together.len()).await? {
                sent += usize::try_from(made).unwrap_or(usize::MAX);
            }
        }
        Ok(sent)
    }

    /// The copies that these buckets refer to now, as a majority of the members has them: copies are removed by that,
    /// whatever the write concern of the statements is.
    async fn referred(&self, buckets: Vec<Bson>) -> Result<HashSet<ObjectId>> {
        let plan: FindPlan = archive::buckets(T::SPEC, buckets);
        let settings = Settings {
            write_concern: Some(durable()),
            ..self.asked.settings.clone()
        };
        let found = self.editing_with(&settings)?.certain(plan).await?;
        let referring = found.iter();
        Ok(referring
            .filter_map(|stored| archive::copy_of(T::SPEC, stored))
            .collect())
    }

    fn editing(&self) -> Result<Editing<'_, T>> {
        self.editing_with(&self.asked.settings)
    }

    fn editing_with(&self, settings: &Settings) -> Result<Editing<'_, T>> {
        let context = self.context.clone();
        let editing = Editing::new(self.asked.buckets, None, settings, context)?;
        Ok(match self.until {
            Some(until) => editing.until(until),
            None => editing,
        })
    }

    /// Counts what has moved: the statements, and the sizes of the items.
    #[expect(
        single_use_lifetimes,
        reason = "anonymous ones in `impl Trait` are unstable"
    )]
    fn moved<'s>(&mut self, moved: impl Iterator<Item = (&'s SealStatement, u64)>) {
        for (statement, bytes) in moved {
            self.report.buckets += 1;
            self.report.records += statement.records;
            self.report.bytes += bytes;
        }
    }
}

/// Each command has the statements that fit into it, or one.
fn in_commands(statements: Vec<&SealStatement>) -> Vec<Vec<&SealStatement>> {
    let (mut commands, mut bytes) = (Vec::<Vec<&SealStatement>>::new(), 0);
    for statement in statements {
        bytes += statement.size();
        match commands.last_mut() {
            Some(together) if bytes <= size::MAX_COMMAND_BYTES => together.push(statement),
            _ => {
                bytes = statement.size();
                commands.push(vec![statement]);
            }
        }
    }
    commands
}

fn number(of: usize) -> u64 {
    u64::try_from(of).unwrap_or(u64::MAX)
}

fn bucket_id(stored: &RawDocument) -> Option<Bson> {
    Bson::try_from(stored.get("_id").ok()??).ok()
}
