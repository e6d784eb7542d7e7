//! `insert_many`: records grouped by bucket, in bounded chunks.

use std::{borrow::Borrow, time::Duration};

use bson::DateTime;
use bucket_core::{Record, write::Batch};
use mongodb::{ClientSession, options::WriteConcern};
use tracing::Instrument;

use super::{ActionFuture, InsertReport};
use crate::{
    Buckets, Error, ErrorKind, Result,
    error::Context,
    trace,
    writer::{Settings, Writer},
};

/// Records that are encoded before they are sent.
const CHUNK_RECORDS: usize = 20_000;
/// Bytes of items that are encoded before they are sent.
const CHUNK_BYTES: usize = 32 * 1024 * 1024;

impl<T: Record> Buckets<T> {
    /// Stores records: as few statements as there are buckets touched, many of them in one
    /// command.
    ///
    /// Records are taken from the iterator in chunks of at most 20,000 records or 32 MiB. Those
    /// of one key keep their order. One record that cannot be stored does not keep the others
    /// from it.
    ///
    /// The larger the batch the better: what a statement costs is shared by the records that go
    /// into the same bucket, so many small batches over many keys cost as much as single inserts.
    ///
    /// Settings: `session`, `write_concern`, `deadline`.
    ///
    /// # Errors
    ///
    /// None of the records is to blame: the arguments make no sense. Everything else is in the
    /// report, record by record: see [`InsertReport`] and its
    /// [`into_result`](InsertReport::into_result).
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
        }
    }
}

/// Records to be stored; see [`Buckets::insert_many`].
#[must_use = "nothing is stored until this is awaited"]
#[derive(Debug)]
pub struct InsertMany<'a, T: Record, I> {
    buckets: &'a Buckets<T>,
    records: I,
    session: Option<&'a mut ClientSession>,
    settings: Settings,
}

impl<'a, T: Record, I> InsertMany<'a, T, I>
where
    I: IntoIterator,
    I::Item: Borrow<T>,
{
    /// Runs in this session. In a transaction the first lost race ends the transaction, as the
    /// server demands it.
    pub fn session(mut self, session: &'a mut ClientSession) -> Self {
        self.session = Some(session);
        self
    }

    /// How long it goes on being tried; see [`Buckets::with_deadline`].
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.settings.deadline = Some(deadline);
        self
    }

    /// This write concern instead of the handle's. In a session the default is the session's.
    pub fn write_concern(mut self, write_concern: WriteConcern) -> Self {
        self.settings.write_concern = Some(write_concern);
        self
    }
}

/// The running operation, without the iterator.
struct Chunks<'a, T: Record> {
    buckets: &'a Buckets<T>,
    session: Option<&'a mut ClientSession>,
    settings: Settings,
}

impl<T: Record> Chunks<'_, T> {
    async fn run<R: Borrow<T>>(
        mut self,
        mut records: impl Iterator<Item = R>,
    ) -> Result<InsertReport> {
        let context = Context {
            operation: "insert_many",
            spec: T::SPEC,
            key: None,
        };
        let mut report = InsertReport::default();
        let mut commands = 0;
        let mut resent = 0;
        let mut missed = 0;
        loop {
            let mut batch = Batch::default();
            batch.set_now(DateTime::now());
            let more = fill(
                self.buckets,
                &mut batch,
                &mut records,
                &mut report,
                &context,
            );
            if batch.records() > 0 {
                let session = self.session.as_deref_mut();
                let settings = &self.settings;
                let writer = Writer::new(self.buckets, session, settings, context.clone())?;
                let written = writer.store(&mut batch).await;
                commands += written.commands;
                resent += written.resent;
                missed += written.missed;
                report.add(written);
            }
            if !more {
                break;
            }
            if report.stopped_by().is_some() {
                break;
            }
        }
        report.sort();
        tracing::debug!(
            target: trace::WRITE,
            records = report.tried(),
            stored = report.stored(),
            opened = report.opened_buckets(),
            failed = report.failed().len(),
            commands,
            resent,
            missed,
            "insert_many",
        );
        Ok(report)
    }
}

/// Encodes the next chunk; whether records are left. Those that cannot be encoded go straight to
/// the report.
fn fill<T: Record, R: Borrow<T>>(
    buckets: &Buckets<T>,
    batch: &mut Batch<T>,
    records: &mut impl Iterator<Item = R>,
    report: &mut InsertReport,
    context: &Context,
) -> bool {
    for record in records {
        let index = report.next_index();
        let record = record.borrow();
        if let Err(source) = batch.push_with(index, record, buckets.limits(record)) {
            report.fail(index, Error::new(ErrorKind::Encode(source), context));
        }
        if batch.records() >= CHUNK_RECORDS || batch.bytes() >= CHUNK_BYTES {
            return true;
        }
    }
    false
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
        } = self;
        let chunks = Chunks {
            buckets,
            session,
            settings,
        };
        Box::pin(chunks.run(records.into_iter()).instrument(span))
    }
}
