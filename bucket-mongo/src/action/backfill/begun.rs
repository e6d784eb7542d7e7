//! A chunk in its transaction: the records, the rejects, and the step of the job.

use bucket_core::{
    Record,
    backfill::{Chunk, Counts, Job, reject},
};
use mongodb::{
    Collection,
    bson::{Bson, DateTime, RawDocumentBuf, doc},
};
use tokio::time::{Instant, timeout_at};

use super::{
    backfill_report::RejectedDocument,
    jobs::Jobs,
    prepared::Prepared,
    source::id_of,
    verdict::{Verdict, judge},
};
use crate::{
    Buckets, Error, ErrorKind, Result,
    action::edit::Transaction,
    error::{Context, ReadFault},
};

const TAKES_NONE: &str =
    "a backfill needs transactions: store the buckets in a replica set or a sharded cluster";

/// A transaction that has begun.
pub(super) struct Begun<'s, T: Record> {
    pub(super) buckets: &'s Buckets<T>,
    pub(super) transaction: &'s mut Transaction,
    pub(super) until: Instant,
    pub(super) context: &'s Context,
}

/// What a transaction has come to.
pub(super) enum Made {
    Stored(Vec<RejectedDocument>, Counts),
    /// The server has refused a statement of it, and stores nothing.
    Refused(Error),
    /// It has rejects, and their collection may not be there.
    Rejects,
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

impl<T: Record> Begun<'_, T> {
    /// Inserts records.
    pub(super) async fn insert<'r>(
        &mut self,
        records: impl IntoIterator<Item = &'r T>,
    ) -> Result<(Verdict, Counts)>
    where
        T: 'r,
    {
        let records: Vec<&T> = records.into_iter().collect();
        let mut counts = Counts::default();
        let (false, Some(session)) = (records.is_empty(), self.transaction.session()) else {
            return Ok((Verdict::Stored(Vec::new()), counts));
        };
        let left = self.until.saturating_duration_since(Instant::now());
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
    pub(super) async fn make(
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
        let rejects = prepared.rejects_with(&refused);
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
