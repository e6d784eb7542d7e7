//! A chunk in its transaction: the records, the rejects, and the step of the job.

use std::{
    borrow::Borrow,
    time::{Duration, Instant as Clock},
};

use bucket_core::{
    Record,
    backfill::{Chunk, Counts, Job, Order, Pace, Pass, Reading, reject, rejects_name},
    write::codes::{NAMESPACE_EXISTS, NO_SUCH_TRANSACTION},
};
use mongodb::{
    Collection,
    bson::{Bson, DateTime, RawDocumentBuf, doc},
};
use serde::de::DeserializeOwned;
use tokio::{
    task::yield_now,
    time::{Instant, sleep, timeout_at},
};

use super::{
    backfill_report::RejectedDocument,
    jobs::{Jobs, NamedSessions},
    source::id_of,
    verdict::{Verdict, is_of_record, is_too_slow, judge},
};
use crate::{
    Buckets, Error, ErrorKind, Result,
    action::edit::{Transaction, passes},
    collection::collection_on_primary,
    error::{Context, ReadFault},
    writer::{LONGEST_DEADLINE, faults::code},
};

pub(super) const TAKES_NONE: &str =
    "a backfill needs transactions: store the buckets in a replica set or a sharded cluster";

/// The server ends transactions after a minute.
const LONGEST: Duration = Duration::from_secs(50);
/// A chunk with fewer documents is not stored in parts because it takes too long.
const FEW: usize = 32;
/// How often the server may refuse documents at one place of which it refuses none.
const FRUITLESS: u32 = 8;
/// The most documents that are read as records in a row while other tasks wait.
const BREATHER: usize = 1_024;

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
    until: Instant,
    context: Context,
}

/// What a chunk has come to.
#[derive(Default)]
pub(super) struct StoredChunk {
    pub(super) read: u64,
    pub(super) rejects: Vec<RejectedDocument>,
}

/// The documents of a chunk, as records and as rejects.
struct Prepared<'c, T> {
    chunk: &'c Chunk,
    records: Vec<T>,
    /// The document of each record, as its index in the chunk.
    documents: Vec<usize>,
    rejects: Vec<(usize, String)>,
}

/// A transaction that has begun.
pub(super) struct Begun<'s, T: Record> {
    buckets: &'s Buckets<T>,
    transaction: &'s mut Transaction,
    until: Instant,
    context: &'s Context,
}

/// A session for the transactions of a job.
pub(super) async fn transaction<T: Record>(
    buckets: &Buckets<T>,
    until: Instant,
    context: &Context,
) -> Result<Transaction> {
    let store = buckets.store();
    let place = (store.database(), T::SPEC.collection());
    let concern = Some(store.write_concern());
    let new = Transaction::new(place, concern, until, context.clone()).await?;
    new.ok_or_else(|| {
        let message = TAKES_NONE.to_owned();
        Error::new(ErrorKind::InvalidArgument { message }, context)
    })
}

/// How long the attempts of a chunk may take.
pub(super) fn patience<T: Record>(buckets: &Buckets<T>) -> Duration {
    buckets.store().deadline().min(LONGEST_DEADLINE)
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
            context: context.clone(),
        }
    }

    fn patience(&self) -> Duration {
        patience(self.buckets)
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
        let helps = is_too_slow(error) && chunk.documents.len() > FEW;
        if helps {
            chunk.halves(self.order, pass)
        } else {
            None
        }
    }

    async fn prepare<'c>(&mut self, chunk: &'c Chunk) -> Prepared<'c, T> {
        let mut prepared = Prepared {
            chunk,
            records: Vec::with_capacity(chunk.documents.len()),
            documents: Vec::with_capacity(chunk.documents.len()),
            rejects: Vec::new(),
        };
        for (index, document) in chunk.documents.iter().enumerate() {
            if index % BREATHER == BREATHER - 1 {
                yield_now().await;
            }
            match self.reading.record(document) {
                Ok(record) => {
                    prepared.records.push(record);
                    prepared.documents.push(index);
                }
                Err(misfit) => prepared.rejects.push((index, misfit.to_string())),
            }
        }
        prepared
    }

    /// Stores a part of a chunk in one transaction; `rest` are those that come after it.
    async fn store_together(&mut self, chunk: &Chunk, rest: &[Chunk]) -> Result<Together> {
        let pass = self.job.position().pass;
        let mut prepared = self.prepare(chunk).await;
        self.until = Instant::now() + self.patience();
        let mut fruitless = 0;
        loop {
            if !prepared.rejects.is_empty() {
                self.create_rejects().await?;
            }
            let error = match self.attempt(&prepared).await? {
                Some(Attempt::Stored(rejects)) => return Ok(Together::Stored(rejects)),
                Some(Attempt::Refused(error)) => error,
                // The collection of the rejects has to be there first.
                Some(Attempt::Rejects) => {
                    self.create_rejects().await?;
                    continue;
                }
                None => continue,
            };
            if let Some((first, second)) = chunk.halves(self.order, pass) {
                return Ok(Together::Refused(first, second));
            }
            fruitless += 1;
            // The first time, another writer may have been in the way.
            if fruitless == 1 {
                continue;
            }
            let culprit = match prepared.records.as_slice() {
                [_] => Some((0, error.clone())),
                records => self.first_refused(records).await?,
            };
            match culprit {
                Some((at, error)) => {
                    if !is_of_record(&error) && !self.takes_others(rest).await? {
                        return Err(error);
                    }
                    prepared.reject(at, error.kind().to_string());
                    fruitless = 0;
                }
                None if fruitless > FRUITLESS => return Err(error),
                None => {}
            }
            self.until = Instant::now() + self.patience();
        }
    }

    /// Makes one attempt; `None` if the next one may go through.
    async fn attempt(&mut self, prepared: &Prepared<'_, T>) -> Result<Option<Attempt>> {
        let (job, jobs) = (self.job.clone(), self.jobs.clone());
        let rejects = self.rejects.clone();
        let has_rejects = self.has_rejects;
        let mut begun = self.begin().await?;
        let made = begun
            .make(prepared, &job, &jobs, has_rejects.then_some(&rejects))
            .await;
        let (kept, counts) = match made {
            Ok(Made::Stored(kept, counts)) => (kept, counts),
            Ok(Made::Refused(error)) => {
                begun.give_up().await;
                return Ok(Some(Attempt::Refused(error)));
            }
            Ok(Made::Rejects) => {
                begun.give_up().await;
                return Ok(Some(Attempt::Rejects));
            }
            // It was ended by others, as by a worker that takes over.
            Err(error) if error.code() == Some(NO_SUCH_TRANSACTION) => {
                begun.give_up().await;
                self.again(error).await?;
                return Ok(None);
            }
            Err(error) => {
                let ended = begun.transaction.end::<()>(Err(error)).await;
                self.check_transaction(&ended);
                ended?;
                return Ok(None);
            }
        };
        let ended = begun.transaction.end(Ok(kept)).await;
        self.check_transaction(&ended);
        let Some(kept) = ended? else {
            return Ok(None);
        };
        self.job.made_step(prepared.chunk.next.clone(), counts);
        if let (1.., Some(last)) = (counts.stored, prepared.documents.last()) {
            self.last_stored = prepared.chunk.documents.get(*last).cloned();
        }
        Ok(Some(Attempt::Stored(kept)))
    }

    /// A transaction that ended with an error is left to itself: it may be open.
    fn check_transaction<R>(&mut self, ended: &Result<Option<R>>) {
        if ended.is_err() {
            self.transaction = None;
        }
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

    /// Waits before another try, if there is time for one.
    pub(super) async fn again(&self, error: Error) -> Result<()> {
        let is_ended = error.code() == Some(NO_SUCH_TRANSACTION);
        let is_transient = is_ended || error.contains_label("TransientTransactionError");
        if is_transient && Instant::now() < self.until {
            sleep(crate::backoff::spread(PAUSE)).await;
            return Ok(());
        }
        passes(error, self.until).await
    }

    /// Creates the collection of the rejects: a transaction would conflict with another one that does.
    async fn create_rejects(&mut self) -> Result<()> {
        if self.has_rejects {
            return Ok(());
        }
        let name = self.rejects.name().to_owned();
        loop {
            let database = self.buckets.store().database();
            let create = database.run_command(doc! { "create": &name });
            let late = |_| Error::read(ReadFault::Late, &self.context);
            match timeout_at(self.until, create).await.map_err(late)? {
                Ok(_) => break,
                Err(error) if code(&error) == Some(NAMESPACE_EXISTS) => break,
                Err(error) => passes(Error::read(error, &self.context), self.until).await?,
            }
        }
        self.has_rejects = true;
        Ok(())
    }

    /// Takes the names of the sessions away.
    pub(super) async fn end(&mut self) -> Result<()> {
        self.transaction = None;
        self.named.forget().await
    }
}

/// The longest pause before another try, in milliseconds.
const PAUSE: u64 = 64;

/// What a part of a chunk has come to.
enum Together {
    Stored(Vec<RejectedDocument>),
    /// The server refuses something of it: it is stored in these parts.
    Refused(Chunk, Chunk),
}

/// What an attempt has come to.
enum Attempt {
    Stored(Vec<RejectedDocument>),
    Refused(Error),
    Rejects,
}

/// What a transaction has come to, before its end.
enum Made {
    Stored(Vec<RejectedDocument>, Counts),
    Refused(Error),
    /// It has rejects, and their collection may not be there.
    Rejects,
}

impl<T: Record> Begun<'_, T> {
    /// Inserts records.
    pub(super) async fn insert<I: Borrow<T> + Send + Sync>(
        &mut self,
        records: &[I],
    ) -> Result<(Verdict, Counts)> {
        let mut counts = Counts::default();
        let (false, Some(session)) = (records.is_empty(), self.transaction.session()) else {
            return Ok((Verdict::Stored(Vec::new()), counts));
        };
        let left = self.until.saturating_duration_since(Instant::now());
        let records: Vec<&T> = records.iter().map(Borrow::borrow).collect();
        let insert = self.buckets.insert_many(records).session(session);
        let report = insert.deadline(left).await?;
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        counts.stored = number(report.stored());
        let known = [report.duplicates(), report.replaced(), report.superseded()];
        counts.duplicates = known.into_iter().map(|known| number(known.len())).sum();
        Ok((judge(&report)?, counts))
    }

    /// Ends it: nothing of it is stored.
    pub(super) async fn give_up(self) {
        self.transaction.give_up().await;
    }

    /// Everything of a chunk.
    async fn make(
        &mut self,
        prepared: &Prepared<'_, T>,
        job: &Job,
        jobs: &Jobs,
        to: Option<&Collection<RawDocumentBuf>>,
    ) -> Result<Made> {
        let until = self.until;
        if let Some(session) = self.transaction.session() {
            jobs.send_in(job.begin_step(), session, until, job).await?;
        }
        let (verdict, mut counts) = self.insert(&prepared.records).await?;
        let refused = match verdict {
            Verdict::Stored(refused) => refused,
            Verdict::Refused(error) => return Ok(Made::Refused(error)),
        };
        let mut rejects: Vec<(usize, String)> = prepared.rejects.clone();
        rejects.extend(refused.iter().filter_map(|(at, error)| {
            let document = prepared.documents.get(*at)?;
            Some((*document, error.kind().to_string()))
        }));
        rejects.sort_by_key(|(document, _)| *document);
        let mut kept = Vec::new();
        if !rejects.is_empty() {
            let Some(to) = to else {
                return Ok(Made::Rejects);
            };
            kept = self.keep(prepared.chunk, &rejects, to, job).await?;
        }
        counts.read = u64::try_from(prepared.chunk.documents.len()).unwrap_or(u64::MAX);
        counts.rejected = u64::try_from(rejects.len()).unwrap_or(u64::MAX);
        if let Some(session) = self.transaction.session() {
            let ended = job.end_step(&prepared.chunk.next, counts, DateTime::now());
            jobs.send_in(ended, session, until, job).await?;
        }
        Ok(Made::Stored(kept, counts))
    }

    /// Keeps what is not stored. A job that was begun anew finds its former rejects, which are the same documents.
    async fn keep(
        &mut self,
        chunk: &Chunk,
        rejects: &[(usize, String)],
        to: &Collection<RawDocumentBuf>,
        job: &Job,
    ) -> Result<Vec<RejectedDocument>> {
        let of = |(at, reason): &(usize, String)| {
            let document = chunk.documents.get(*at)?;
            let kept = RejectedDocument {
                id: id_of(document),
                reason: reason.clone(),
            };
            Some((reject(job.name(), document, reason), kept))
        };
        let (documents, kept): (Vec<RawDocumentBuf>, Vec<RejectedDocument>) =
            rejects.iter().filter_map(of).unzip();
        let ids = documents.iter().map(|document| id_of(document));
        let ids: Vec<Bson> = ids.collect();
        let Some(session) = self.transaction.session() else {
            return Ok(kept);
        };
        let kept_them = async {
            let former = doc! { "_id": { "$in": ids } };
            to.delete_many(former).session(&mut *session).await?;
            to.insert_many(documents).session(&mut *session).await
        };
        let late = |_| Error::read(ReadFault::Late, self.context);
        let kept_them = timeout_at(self.until, kept_them).await.map_err(late)?;
        kept_them.map_err(|error| Error::read(error, self.context))?;
        Ok(kept)
    }
}

impl<T> Prepared<'_, T> {
    /// Makes a reject of a record that the server refuses.
    fn reject(&mut self, at: usize, reason: String) {
        if at < self.records.len() {
            self.records.remove(at);
            let document = self.documents.remove(at);
            self.rejects.push((document, reason));
        }
    }
}
