//! Stores chunks one after the other, each in a transaction, or in parts of it.

use std::time::{Duration, Instant as Clock};

use bucket_core::{
    Record,
    backfill::{Chunk, Job, Order, Pace, Pass, Reading, rejects_name},
    write::codes::NAMESPACE_EXISTS,
};
use mongodb::{
    Collection,
    bson::{RawDocumentBuf, doc},
};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::{
    backfill_report::RejectedDocument,
    begun::{Begun, Made, transaction},
    jobs::{Jobs, NamedSessions},
    prepared::Prepared,
    tries::{again, is_ended_by_others, patience, tried},
    verdict::{Others, is_of_all, is_of_record, is_too_slow},
};
use crate::{
    Buckets, Error, Result,
    action::edit::Transaction,
    collection::collection_on_primary,
    error::{Context, ReadFault},
    writer::faults::code,
};

/// The server ends transactions after a minute.
const LONGEST: Duration = Duration::from_secs(50);
/// A chunk with fewer documents is not stored in parts because it takes too long.
const FEW: usize = 32;

/// Stores the chunks of a job one after the other.
pub(super) struct Storing<'a, T: Record> {
    buckets: &'a Buckets<T>,
    order: &'a Order,
    pub(super) reading: Reading<T>,
    jobs: Jobs,
    pub(super) job: Job,
    named: NamedSessions,
    rejects: Collection<RawDocumentBuf>,
    has_rejects: bool,
    transaction: Option<Transaction>,
    /// The document of a record that this run has stored.
    pub(super) last_stored: Option<RawDocumentBuf>,
    /// When the attempts of the chunk end.
    pub(super) until: Instant,
    /// The last attempt has used up its time before its commit. What error that gives depends on where it was.
    ran_out: bool,
    context: Context,
}

/// What a chunk has come to.
#[derive(Default)]
pub(super) struct StoredChunk {
    pub(super) read: u64,
    pub(super) rejects: Vec<RejectedDocument>,
}

/// What a part of a chunk has come to.
enum Together {
    Stored(Vec<RejectedDocument>),
    /// The server refuses something of it: it is stored in these parts.
    Refused(Chunk, Chunk),
}

impl<'a, T: Record + DeserializeOwned> Storing<'a, T> {
    pub(super) fn new(
        buckets: &'a Buckets<T>,
        order: &'a Order,
        reading: Reading<T>,
        (jobs, job, transaction): (Jobs, Job, Transaction),
        context: &Context,
    ) -> Self {
        let store = buckets.store();
        let name = rejects_name(T::SPEC.collection());
        Self {
            buckets,
            order,
            reading,
            named: NamedSessions::new(&jobs, &job),
            jobs,
            job,
            rejects: collection_on_primary(store.database(), &name),
            has_rejects: false,
            transaction: Some(transaction),
            last_stored: None,
            until: Instant::now(),
            ran_out: false,
            context: context.clone(),
        }
    }

    fn patience(&self) -> Duration {
        patience(self.buckets.store())
    }

    /// Stores a chunk, in parts if it takes too long, or if the server refuses something of it.
    pub(super) async fn store(&mut self, chunk: Chunk, pace: &mut Pace) -> Result<StoredChunk> {
        let pass = self.job.position().pass;
        let (mut stored, mut parts) = (StoredChunk::default(), vec![chunk]);
        while let Some(part) = parts.pop() {
            let begun = Clock::now();
            let documents = part.documents.len();
            match self.store_together(&part, &parts).await {
                Ok(Together::Refused(first, second)) => parts.extend([second, first]),
                Ok(Together::Stored(rejects)) => {
                    pace.took(documents, begun.elapsed(), self.patience().min(LONGEST));
                    stored.read += u64::try_from(documents).unwrap_or(u64::MAX);
                    stored.rejects.extend(rejects);
                }
                Err(error) => {
                    let (first, second) = self.parts(&part, pass, &error).ok_or(error)?;
                    pace.took(documents, Duration::MAX, self.patience());
                    parts.extend([second, first]);
                }
            }
        }
        Ok(stored)
    }

    /// What a chunk is stored in after this error.
    fn parts(&self, chunk: &Chunk, pass: Pass, error: &Error) -> Option<(Chunk, Chunk)> {
        let is_slow = is_too_slow(error) || self.ran_out;
        let helps = is_slow && chunk.documents.len() > FEW;
        if helps {
            chunk.halves(self.order, pass)
        } else {
            None
        }
    }

    /// Stores a part of a chunk in one transaction; `rest` are those that come after it.
    async fn store_together(&mut self, chunk: &Chunk, rest: &[Chunk]) -> Result<Together> {
        let pass = self.job.position().pass;
        let mut prepared = Prepared::of(chunk, &mut self.reading).await;
        self.until = Instant::now() + self.patience();
        loop {
            self.ran_out = false;
            if prepared.has_rejects() {
                self.create_rejects().await?;
            }
            match self.attempt(&prepared).await? {
                Some(Made::Stored(rejects, _)) => return Ok(Together::Stored(rejects)),
                Some(Made::Refused(error)) => {
                    if let Some((first, second)) = chunk.halves(self.order, pass) {
                        return Ok(Together::Refused(first, second));
                    }
                    self.reject_one(&mut prepared, error, rest).await?;
                }
                // The collection of the rejects has to be there first.
                Some(Made::Rejects) => self.create_rejects().await?,
                None => {}
            }
        }
    }

    /// Makes a reject of the record that the server refuses, in a part that cannot be divided any more.
    async fn reject_one(
        &mut self,
        prepared: &mut Prepared<'_, T>,
        error: Error,
        rest: &[Chunk],
    ) -> Result<()> {
        let culprit = match prepared.records.as_slice() {
            [_] => Some((0, error.clone())),
            records => self.first_refused(records).await?,
        };
        let Some((at, error)) = culprit else {
            // Another writer was in the way.
            return if Instant::now() < self.until {
                Ok(())
            } else {
                Err(error)
            };
        };
        if !is_of_record(&error) {
            match self.others(rest).await? {
                Others::Taken => {}
                // The call would end here each time. The reject has the reason and the document.
                Others::Unasked if !is_of_all(&error) => {}
                Others::Unasked | Others::Refused => return Err(error),
            }
        }
        prepared.reject(at, &error);
        self.until = Instant::now() + self.patience();
        Ok(())
    }

    /// Makes one attempt; `None` if the next one may go through.
    async fn attempt(&mut self, prepared: &Prepared<'_, T>) -> Result<Option<Made>> {
        let (job, jobs) = (self.job.clone(), self.jobs.clone());
        let rejects = self.has_rejects.then(|| self.rejects.clone());
        let mut begun = self.begin().await?;
        let made = begun.make(prepared, &job, &jobs, rejects.as_ref()).await;
        let ran_out = made.is_err() && Instant::now() >= begun.until;
        let ended = match made {
            Ok(made @ (Made::Refused(_) | Made::Rejects)) => {
                begun.give_up().await;
                return Ok(Some(made));
            }
            Err(error) if is_ended_by_others(&error) => {
                begun.give_up().await;
                self.ran_out = ran_out;
                again(error, self.until).await?;
                return Ok(None);
            }
            made => begun.transaction.end(made).await,
        };
        self.ran_out = ran_out;
        if ended.is_err() {
            // It is left to itself: it may be open.
            self.transaction = None;
        }
        let made = ended?;
        if let Some(Made::Stored(_, counts)) = &made {
            self.job.made_step(prepared.chunk.next.clone(), *counts);
            if counts.stored > 0 {
                self.last_stored = prepared
                    .last_document()
                    .cloned()
                    .or(self.last_stored.take());
            }
        }
        Ok(made)
    }

    /// Begins a transaction, in a session that the job names.
    pub(super) async fn begin(&mut self) -> Result<Begun<'_, T>> {
        if self.transaction.is_none() {
            self.transaction = Some(transaction(self.buckets, self.until, &self.context).await?);
        }
        let until = self.until.min(Instant::now() + LONGEST);
        let transaction = self.transaction.as_mut();
        let gone = || Error::read(ReadFault::Late, &self.context);
        let transaction = transaction.ok_or_else(gone)?;
        transaction.until(until);
        if let Some(session) = transaction.session() {
            let session = session.id().clone();
            self.named.add(&session, &self.job).await?;
        }
        transaction.begin().await?;
        Ok(Begun {
            buckets: self.buckets,
            transaction,
            until,
            context: &self.context,
        })
    }

    /// Creates the collection of the rejects: a transaction would conflict with another one that does.
    async fn create_rejects(&mut self) -> Result<()> {
        if self.has_rejects {
            return Ok(());
        }
        let database = self.buckets.store().database();
        let name = self.rejects.name();
        tried(self.until, &self.context, || async {
            match database.run_command(doc! { "create": name }).await {
                Err(error) if code(&error) != Some(NAMESPACE_EXISTS) => Err(error),
                _ => Ok(()),
            }
        })
        .await?;
        self.has_rejects = true;
        Ok(())
    }

    /// Takes the names of the sessions away.
    pub(super) async fn end(&mut self) -> Result<()> {
        let forgotten = self.named.forget().await;
        // Only then the driver uses its session for other calls.
        self.transaction = None;
        forgotten
    }
}
