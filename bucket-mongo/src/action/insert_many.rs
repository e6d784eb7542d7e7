//! `insert_many`: stores records grouped by bucket, in bounded chunks.

use std::{borrow::Borrow, iter::Fuse, time::Duration};

use bson::DateTime;
use bucket_core::{
    Record,
    write::{Batch, Holds, Source},
};
use mongodb::{ClientSession, options::WriteConcern};
use tracing::Instrument;

use super::{
    ActionFuture, InsertReport, edit::deadline, replacement::Replacement, replaces::Replaces,
    replacing::Replacing,
};
use crate::{
    Buckets, Error, ErrorKind, Result,
    chunks::{fill, fill_beside},
    error::Context,
    group, trace,
    write_setters::write_setters,
    writer::{Settings, Writer, Written, all_unsent},
};

/// The most records that are encoded before a chunk is sent.
const CHUNK_RECORDS: usize = 262_144;
/// The most bytes of items that are encoded before a chunk is sent.
const CHUNK_BYTES: usize = 32 * 1024 * 1024;
/// The memory for the chunk that is sent, and for the one that is encoded meanwhile.
const CHUNKS_MEMORY: usize = 200 * 1024 * 1024;

impl<T: Record> Buckets<T> {
    /// Stores records with one statement per bucket touched, many of them in one command.
    ///
    /// Records are taken from the iterator in chunks of 262,144 records or 32 MiB; while one chunk is
    /// being stored, the next one is encoded. A chunk may be larger if it has few records of each key, because later
    /// ones of these keys save statements. Chunks take up to 200 MiB of memory. Once an error has [ended the call](InsertReport::stopped_by),
    /// no more are taken. Records of one key keep their order. A record that cannot be stored does not stop
    /// the others, unless they come [from a source](InsertMany::from_source).
    ///
    /// Larger batches are cheaper: records of the same bucket share the cost of one statement, and small
    /// batches over many keys cost as much as single inserts. Calls that arrive while other calls of the
    /// handle and its clones are writing more than 64 statements wait for those, a quarter of a second at
    /// most, and share their statements: four tasks with a batch each are nearly four times as fast as one.
    /// Calls with settings of their own, and calls of more than 65,536 records, do not share.
    ///
    /// Settings: `session`, `write_concern`, `deadline`, `from_source`, `replace`, `replace_if`.
    ///
    /// # Errors
    ///
    /// Only if the arguments are invalid. Everything else is in the report, record by record: see
    /// [`InsertReport`] and its [`into_result`](InsertReport::into_result).
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn store<T: Bucketed>(buckets: &Buckets<T>, records: &[T]) -> Result<()> {
    ///     let report = buckets.insert_many(records).await?;
    ///     println!("{} records, {} new buckets", report.stored(), report.opened_buckets());
    ///     for failed in report.failed() {
    ///         eprintln!("record {}: {}", failed.index, failed.error);
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn insert_many<I>(&self, records: I) -> InsertMany<'_, T, I>
    where
        I: IntoIterator,
        I::Item: Borrow<T>,
    {
        InsertMany {
            buckets: self,
            records,
            session: None,
            settings: Settings::default(),
            source: None,
            replacement: Replacement::of_model(),
        }
    }
}

/// An insert of many records; see [`Buckets::insert_many`].
#[must_use = "nothing is stored until this is awaited"]
#[derive(Debug)]
pub struct InsertMany<'a, T: Record, I> {
    buckets: &'a Buckets<T>,
    records: I,
    session: Option<&'a mut ClientSession>,
    settings: Settings,
    source: Option<(String, u64)>,
    replacement: Option<Replacement<'a, T>>,
}

impl<'a, T: Record, I> InsertMany<'a, T, I>
where
    I: IntoIterator,
    I::Item: Borrow<T>,
{
    write_setters! {
        /// Runs the operation in this session. In a transaction the first write conflict ends the
        /// transaction, as the server requires.
        session,
        /// Sets how long writes are retried; see [`Buckets::with_deadline`].
        deadline,
        /// Sets the write concern instead of the handle's. In a session the default is the session's.
        write_concern,
    }

    /// Replaces records that are stored under the same ids with other data, instead of
    /// [`ErrorKind::Conflict`]: the report has them as [`replaced`](InsertReport::replaced).
    ///
    /// The record that comes last wins, also of several in one call; see
    /// [`Insert::replace`](crate::action::Insert::replace). Use [`replace_if`](Self::replace_if) if an older
    /// version may arrive later, or again. New records are stored as without this, in the same commands. Then
    /// each record whose id is taken replaces what is stored, up to eight keys at a time, within the deadline of
    /// the call. It cannot be used with [`from_source`](Self::from_source).
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn latest_wins<T: Bucketed>(prices: &Buckets<T>, batch: &[T]) -> Result<()> {
    ///     let report = prices.insert_many(batch).replace().await?;
    ///     println!("{} new, {} replaced", report.stored(), report.replaced().len());
    ///     report.into_result().map(drop)
    /// }
    /// ```
    pub fn replace(self) -> Self {
        self.replace_if(|_, _| true)
    }

    /// Replaces records that are stored under the same ids with other data, if `replaces` says so: it gets the
    /// stored record and the new one, both as reads give them. Otherwise the stored record stays, and the
    /// report has the new one as [`superseded`](InsertReport::superseded). See
    /// [`Insert::replace_if`](crate::action::Insert::replace_if).
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result, bson::DateTime};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Bucketed)]
    /// # #[bucket(collection = "prices", items = "prices", capacity = 100)]
    /// # struct Price {
    /// #     #[bucket(key)] product: String,
    /// #     #[bucket(time)] at: DateTime,
    /// #     #[bucket(unique)] id: i64,
    /// #     version: i32,
    /// # }
    /// async fn latest_versions_win(prices: &Buckets<Price>, batch: &[Price]) -> Result<()> {
    ///     let newer = |stored: &Price, new: &Price| new.version > stored.version;
    ///     let report = prices.insert_many(batch).replace_if(newer).await?;
    ///     println!("{} arrived too late", report.superseded().len());
    ///     Ok(())
    /// }
    /// ```
    pub fn replace_if(mut self, replaces: impl Fn(&T, &T) -> bool + Send + Sync + 'a) -> Self {
        self.replacement = Some(Replacement::new(replaces));
        self
    }

    /// Says that the records come from a source that may deliver them again, such as a partition of a queue.
    /// The first record is at this position, each next one at the next. At most one record is stored for each
    /// position, whatever was lost or delivered again, also across restarts of this process.
    ///
    /// Positions that are already stored are in the report's [`duplicates`](InsertReport::duplicates). Send
    /// the positions of a source in order. After an error or a restart, continue from the first record that
    /// may not be stored: the position of the first [`failed`](InsertReport::failed) record. Once a record of
    /// a key may not be stored, the call stores no later record of that key (in models with windows: of that
    /// key and window). Those fail with [`HeldBack`](ErrorKind::HeldBack). Only a record past the model's
    /// `expire_after` holds back no others.
    ///
    /// Each bucket keeps the last position of each source in its field `sources`. The first call of a handle
    /// for a key reads the position from the key's newest bucket that has it. Models with a longest duration
    /// (`max_duration`) cannot have sources.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn deliver<T: Bucketed>(buckets: &Buckets<T>, batch: &[T], offset: u64) -> Result<()> {
    ///     let report = buckets.insert_many(batch).from_source("orders-3", offset).await?;
    ///     println!("{} new, {} seen before", report.stored(), report.duplicates().len());
    ///     report.into_result().map(drop)
    /// }
    /// ```
    pub fn from_source(mut self, name: impl Into<String>, position: u64) -> Self {
        self.source = Some((name.into(), position));
        self
    }
}

/// The running operation: it stores one chunk while it encodes the next one.
struct Chunks<'a, T: Record, I: Iterator> {
    buckets: &'a Buckets<T>,
    session: Option<&'a mut ClientSession>,
    settings: Settings,
    replacement: Option<Replacement<'a, T>>,
    records: Records<'a, T, I>,
    commands: usize,
    resent: usize,
    missed: usize,
}

impl<T: Record, I> Chunks<'_, T, I>
where
    I: Iterator,
    I::Item: Borrow<T>,
{
    async fn run(mut self, source: Option<(String, u64)>) -> Result<InsertReport> {
        if self.replacement.is_some() {
            Replaces::<T>::check(&self.records.context)?;
            self.records.keeps_contested = true;
        }
        if let Some((name, position)) = source {
            self.records.come_from(&name, position)?;
        }
        let records = &mut self.records;
        let mut chunk = records.begin();
        fill(|| records.take(&mut chunk)).await;
        let mut holds = Holds::default();
        loop {
            // It was encoded before the outcome of the chunk before it was known.
            records.hold_back(&mut chunk, &holds);
            if chunk.records() == 0 {
                break;
            }
            if let Some(error) = records.report.stopped_by() {
                let error = error.not_sent();
                for (index, error) in all_unsent(&mut chunk, &error) {
                    records.report.fail(index, error);
                }
                break;
            }
            let mut next = records.begin();
            records.room = CHUNKS_MEMORY.saturating_sub(chunk.memory());
            let end = records.report.tried();
            let context = records.context.clone();
            let goes_alone = self.session.is_some()
                || self.settings != Settings::default()
                || records.source.is_some();
            let store = async {
                let deadline = deadline(self.buckets, &self.settings);
                let (mut written, holds) = if goes_alone {
                    let session = self.session.as_deref_mut();
                    let writer =
                        Writer::new(self.buckets.store(), session, &self.settings, context)?;
                    (writer.store(&mut chunk).await, chunk.holds())
                } else {
                    // Without a source no record depends on another one.
                    let written = group::store(self.buckets.store(), chunk, end, &context).await?;
                    (written, Holds::default())
                };
                // Before the next chunk, which may have records of the same ids.
                if let Some(replacement) = &self.replacement {
                    let replacing = Replacing {
                        buckets: self.buckets,
                        operation: "insert_many",
                        replaces: replacement.replaces(),
                        session: self.session.as_deref_mut(),
                        settings: &self.settings,
                        deadline,
                    };
                    replacement.settle(replacing, &mut written).await;
                }
                Ok((written, holds))
            };
            let ends_the_call = |written: &Result<(Written, Holds)>| match written {
                Ok((written, _)) => written.stopped_by.is_some(),
                Err(_) => true,
            };
            let written = fill_beside(store, ends_the_call, || records.take(&mut next)).await;
            let (written, held) = written?;
            records.room = CHUNKS_MEMORY;
            if written.stopped_by.is_none() && records.takes_more(&next) {
                fill(|| records.take(&mut next)).await;
            }
            holds = held;
            self.commands += written.commands;
            self.resent += written.resent;
            self.missed += written.missed;
            records.report.add(written);
            chunk = next;
        }
        let mut report = self.records.report;
        report.sort();
        tracing::debug!(
            target: trace::WRITE,
            records = report.tried(),
            stored = report.stored(),
            opened = report.opened_buckets(),
            failed = report.failed().len(),
            duplicates = report.duplicates().len(),
            replaced = report.replaced().len(),
            superseded = report.superseded().len(),
            commands = self.commands,
            resent = self.resent,
            missed = self.missed,
            "insert_many",
        );
        Ok(report)
    }
}

/// Takes records from the iterator and encodes them.
struct Records<'a, T: Record, I: Iterator> {
    buckets: &'a Buckets<T>,
    /// Fused, because some iterators continue after their end.
    iterator: Fuse<I>,
    report: InsertReport,
    context: Context,
    /// The source of the records, and the position of the first one.
    source: Option<(Source, i64)>,
    /// Which of its records must no longer be sent.
    holds: Holds,
    /// Records whose id another record has are kept, to replace that one.
    keeps_contested: bool,
    /// The memory that the next chunk may take.
    room: usize,
}

impl<T: Record, I> Records<'_, T, I>
where
    I: Iterator,
    I::Item: Borrow<T>,
{
    fn come_from(&mut self, name: &str, position: u64) -> Result<()> {
        let refused = |message| {
            let kind = ErrorKind::InvalidArgument { message };
            Err(Error::new(kind, &self.context))
        };
        if self.keeps_contested {
            return refused(
                "records of a source replace nothing: write them without `from_source`, and give them a version, \
                 so that a redelivery changes nothing"
                    .to_owned(),
            );
        }
        let source = match Source::new(T::SPEC, name) {
            Ok(source) => source,
            Err(error) => return refused(error.to_string()),
        };
        let Ok(position) = i64::try_from(position) else {
            return refused("a position must fit in 63 bits".to_owned());
        };
        self.source = Some((source, position));
        Ok(())
    }

    /// A chunk without records.
    fn begin(&mut self) -> Batch {
        let mut batch = Batch::of::<T>();
        batch.set_now(DateTime::now());
        if let Some((source, _)) = &self.source {
            batch.set_source(source.clone());
        }
        if self.keeps_contested {
            batch.keep_contested();
        }
        batch.hold_back(&self.holds);
        batch
    }

    /// Reports the records of a chunk that come after a record that is not stored, and keeps later records
    /// out of the following chunks.
    fn hold_back(&mut self, chunk: &mut Batch, holds: &Holds) {
        chunk.hold_back(holds);
        let held_back = chunk.take_held_back();
        if !held_back.is_empty() {
            let keys = chunk.unstored_keys();
            for held in held_back {
                let error = Error::held_back(&held, &self.context);
                let error = error.for_key(keys.get(&held.index));
                self.report.fail(held.index, error);
            }
        }
        self.holds = chunk.holds();
    }

    /// The error of a record that is not sent, with its key.
    fn refused(&self, record: &T, kind: ErrorKind) -> Error {
        let context = Context::of::<T>(self.context.operation, &record.key());
        Error::new(kind, &context)
    }

    /// Encodes the next record; returns whether the chunk takes more. A record that cannot be encoded goes
    /// straight to the report.
    fn take(&mut self, batch: &mut Batch) -> bool {
        let Some(record) = self.iterator.next() else {
            return false;
        };
        let index = self.report.next_index();
        let record = record.borrow();
        let limits = self.buckets.limits(record);
        if let Some((_, first)) = &self.source {
            let Some(position) = Source::position(*first, index) else {
                let message = format!("the position of a source must be at most {}", i64::MAX);
                let kind = ErrorKind::InvalidArgument { message };
                self.report.fail(index, self.refused(record, kind));
                return true;
            };
            batch.set_position(position);
        }
        if let Err(source) = batch.push_with(index, record, limits) {
            let error = self.refused(record, ErrorKind::Encode(source));
            self.report.fail(index, error);
        }
        for held in batch.take_held_back() {
            let context = Context::of::<T>(self.context.operation, &record.key());
            self.report
                .fail(held.index, Error::held_back(&held, &context));
        }
        self.takes_more(batch)
    }

    /// Whether a chunk takes more records.
    fn takes_more(&self, batch: &Batch) -> bool {
        let records = batch.records() + batch.own_repeats().len();
        let is_small = records < CHUNK_RECORDS && batch.bytes() < CHUNK_BYTES;
        if is_small && batch.memory() < CHUNKS_MEMORY / 2 {
            return true;
        }
        batch.gains_by_more() && batch.memory() < self.room
    }
}

impl<'a, T: Record, I> IntoFuture for InsertMany<'a, T, I>
where
    I: IntoIterator + Send + 'a,
    I::Item: Borrow<T>,
    I::IntoIter: Send + 'a,
{
    type Output = Result<InsertReport>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span = tracing::debug_span!(
            target: trace::WRITE,
            "insert_many",
            collection = T::SPEC.collection(),
        );
        let InsertMany {
            buckets,
            records,
            session,
            settings,
            source,
            replacement,
        } = self;
        let chunks = Chunks {
            buckets,
            session,
            settings,
            replacement,
            records: Records {
                buckets,
                iterator: records.into_iter().fuse(),
                report: InsertReport::default(),
                context: Context::of_all::<T>("insert_many"),
                source: None,
                holds: Holds::default(),
                keeps_contested: false,
                room: CHUNKS_MEMORY,
            },
            commands: 0,
            resent: 0,
            missed: 0,
        };
        Box::pin(chunks.run(source).instrument(span))
    }
}
