//! Groups of buckets, read and merged in transactions.

use bucket_core::{
    Record,
    read::ReadKey,
    seal::{self, MergeDue, MergeGroup},
    write::codes::WRITE_CONFLICT,
};
use mongodb::bson::{self, DateTime, RawDocumentBuf, doc};
use tokio::time::Instant;

use crate::{
    Error, ErrorKind, Result,
    action::{
        edit::{Editing, Transaction, deadline, passes},
        scan,
        seal::{MergeReport, asked::Asked},
    },
    error::Context,
    read::{ReadOptions, Rows},
    writer::Settings,
};

/// The bytes of buckets that a transaction is full with: it keeps what it changes in memory.
const MOST_BYTES: usize = 8 * 1024 * 1024;

const TAKES_NONE: &str = "merging buckets needs transactions and reads of a snapshot: a replica set or a sharded cluster with \
    MongoDB 5.0 or later";

/// Merges what a call was asked for.
pub(super) struct Groups<'a, T: Record> {
    pub(super) asked: Asked<'a, T>,
    pub(super) context: Context,
    /// When the whole call ends, if it was given a deadline.
    until: Option<Instant>,
}

/// What has been done with some groups.
#[derive(Default)]
pub(super) struct Made {
    pub(super) report: MergeReport,
    /// Those of which nothing has been read: they would have been too much for the transaction.
    pub(super) rest: Vec<MergeGroup>,
}

/// What one transaction changes.
#[derive(Default)]
struct Together {
    merges: Vec<seal::Merge>,
    /// The number of groups that it has read.
    groups: usize,
    /// The number of buckets that it leaves as they are.
    stay: u64,
    /// The number of those of which others are gone.
    changed: u64,
}

impl<'a, T: Record> Groups<'a, T> {
    pub(super) fn new(asked: Asked<'a, T>, context: Context) -> Self {
        let deadline = asked.settings.deadline;
        Self {
            until: deadline.and_then(|deadline| Instant::now().checked_add(deadline)),
            asked,
            context,
        }
    }

    /// Refuses a server on which reads could miss what is merged.
    pub(super) async fn check_server(&self) -> Result<()> {
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

    /// Until when a read is tried, or a transaction.
    pub(super) fn patience(&self) -> Instant {
        let own = || deadline(self.asked.buckets, &self.asked.settings);
        self.until.unwrap_or_else(own)
    }

    /// Opens the walk.
    pub(super) async fn open<'r>(&self, due: &MergeDue) -> Result<Rows<'r>> {
        let Asked { key, range, .. } = &self.asked;
        let key = key.as_ref().map(ReadKey::of::<T>);
        let plan = seal::buckets_to_merge(T::SPEC, key.as_ref(), *range, due);
        let store = self.asked.buckets.store();
        scan::open_to_change(store, plan, None, self.until, &self.context).await
    }

    /// Lets the buckets of a group say since when they take no more records. Returns their number.
    pub(super) async fn date(&self, group: &MergeGroup) -> Result<u64> {
        let now = DateTime::now();
        let mut editing = self.editing()?;
        let mut found = Vec::new();
        for find in group.finds(T::SPEC) {
            found.extend(editing.read(find).await?);
        }
        let updates = found.iter();
        let updates = updates.filter_map(|stored| seal::dated(T::SPEC, stored, now));
        let updates: Vec<_> = updates.collect();
        let number = updates.len();
        if number == 0 || self.asked.is_dry {
            return Ok(u64::try_from(number).unwrap_or(u64::MAX));
        }
        let command = doc! {
            "update": T::SPEC.collection(), "ordered": false, "updates": updates,
        };
        let invalid = |source: bson::error::Error| self.invalid(&source.to_string());
        let command = RawDocumentBuf::try_from(&command).map_err(invalid)?;
        Ok(self.editing()?.send(command, number).await?.made())
    }

    /// Merges the first of these groups in one transaction, as many as it takes. If other writers change one of the buckets, the
    /// others are merged without those.
    pub(super) async fn merge(&self, mut groups: Vec<MergeGroup>) -> Result<Made> {
        let mut made = Made::default();
        if let Some(merges) = self.transact(&groups).await? {
            made.rest = groups.split_off(merges.groups);
            merges.count(&mut made.report);
            return Ok(made);
        }
        for group in groups {
            match self.transact(std::slice::from_ref(&group)).await? {
                Some(merges) => merges.count(&mut made.report),
                None => made.report.changed += group.buckets(),
            }
        }
        Ok(made)
    }

    /// Merges the first of these groups in one transaction, as many as it takes. `None` if another writer changes one of the buckets
    /// meanwhile: then nothing is changed.
    async fn transact(&self, groups: &[MergeGroup]) -> Result<Option<Together>> {
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
    ) -> Result<Option<Together>> {
        let (buckets, context) = (self.asked.buckets, self.context.clone());
        let session = transaction.session();
        let editing = Editing::new(buckets, session, &Settings::default(), context)?;
        let mut editing = self.bounded(editing);
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
            // The transaction has read them, so each is there.
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
    ) -> Result<Together> {
        let mut made = Together::default();
        let mut bytes = 0;
        for group in groups {
            let mut found = Vec::new();
            let before = bytes;
            for find in group.finds(T::SPEC) {
                let more = editing.read(find).await?;
                bytes += more.iter().map(|it| it.as_bytes().len()).sum::<usize>();
                found.extend(more);
                if bytes - before > MergeGroup::MOST_BYTES {
                    break;
                }
            }
            made.groups += 1;
            if bytes - before > MergeGroup::MOST_BYTES {
                made.stay += group.buckets();
            } else if found.len() != group.ids.len() {
                made.changed += group.buckets();
            } else if let Some(merge) = group.merge::<T>(&found, DateTime::now()) {
                made.merges.push(merge);
            } else {
                made.stay += group.buckets();
            }
            if bytes >= MOST_BYTES {
                break;
            }
        }
        Ok(made)
    }

    fn editing(&self) -> Result<Editing<'a, T>> {
        let (buckets, context) = (self.asked.buckets, self.context.clone());
        let editing = Editing::new(buckets, None, &self.asked.settings, context)?;
        Ok(self.bounded(editing))
    }

    /// A group that has more is not merged.
    fn bounded<'s>(&self, editing: Editing<'s, T>) -> Editing<'s, T> {
        editing
            .until(self.patience())
            .at_most(MergeGroup::MOST_BYTES)
    }

    pub(super) fn invalid(&self, message: &str) -> Error {
        let message = message.to_owned();
        Error::new(ErrorKind::InvalidArgument { message }, &self.context)
    }
}

impl Together {
    fn count(&self, report: &mut MergeReport) {
        report.stay += self.stay;
        report.changed += self.changed;
        for merge in &self.merges {
            report.buckets += merge.buckets;
            report.merged += 1;
            report.records += merge.records;
            report.bytes_before += merge.before;
            report.bytes_after += merge.after;
        }
    }
}
