//! What is open for which key: the reads before a write.
//!
//! They run on the primary: a tail that is out of date costs a refused statement. A tail that is
//! taken back by a failover costs no more, but where the next bucket is numbered by it: there it is read
//! from what a majority has (see `commitment`).

use std::collections::HashMap;

use bson::{Document, RawDocument, RawDocumentBuf, raw::cstr};
use bucket_core::{
    DamagedBucket, Record,
    read::{self, FindPlan},
    write::{Batch, Chain, Need},
};

use futures_util::future::try_join_all;
use tokio::time::{Instant, sleep, timeout_at};

use super::{Writer, delivery::no_answer_in_time, send::ReadError, session, verdict::Failure};
use crate::{
    backoff,
    error::{Context, Error, ErrorKind},
};

/// Keys that are looked up by one read.
const KEYS: usize = 500;
/// The pause before a read is tried again, in milliseconds; it doubles up to the longest one.
const FIRST_PAUSE_MS: u64 = 10;
const LONGEST_PAUSE_MS: u64 = 1_000;
/// Reads of one bucket each that are under way at the same time.
pub(super) const READS: usize = 16;

impl<T: Record> Writer<'_, T> {
    /// Reads what the chains ask for.
    pub(super) async fn learn(&mut self, batch: &mut Batch<T>) -> Result<(), Error> {
        loop {
            self.learn_tails(batch).await?;
            if !self.learn_repeats(batch).await? {
                return Ok(());
            }
        }
    }

    /// Tells each chain that asks what its tail is.
    async fn learn_tails(&mut self, batch: &mut Batch<T>) -> Result<(), Error> {
        let asking = indexes(batch, |chain| chain.need() == Need::Confirmation);
        for group in asking.chunks(KEYS) {
            let found = self.find(&batch.remembered(group)).await?;
            let stored = batch.saw_remembered(group, &found);
            self.written.duplicates.extend(stored);
        }
        let asks = |chain: &Chain| matches!(chain.need(), Need::OpenBucket | Need::NewestBucket);
        let asking = indexes(batch, |chain| asks(chain) && chain.has_open_index());
        let length = |at: &usize| batch.chains()[*at].key().len();
        for group in read::in_commands(&asking, KEYS, length) {
            let keys: Vec<&[u8]> = group.iter().map(|at| batch.chains()[*at].key()).collect();
            let found = self.find(&read::open_buckets(T::SPEC, &keys)).await?;
            self.tell_open(batch, group, &found);
        }
        let asking = indexes(batch, |chain| asks(chain) && !chain.has_open_index());
        for group in asking.chunks(READS) {
            let open = |at: &usize| batch.chains()[*at].open_bucket();
            let found = self.find_each(group.iter().map(open).collect()).await?;
            for (at, found) in group.iter().zip(found) {
                self.tell(batch, *at, found.first(), Chain::saw);
            }
        }
        let asking = indexes(batch, |chain| chain.need() == Need::NewestBucket);
        for group in asking.chunks(READS) {
            let newest = |at: &usize| batch.chains()[*at].newest_bucket();
            let found = self.find_each(group.iter().map(newest).collect()).await?;
            for (at, found) in group.iter().zip(found) {
                match found.first() {
                    None => batch.chains_mut()[*at].saw_none_open(),
                    found => self.tell(batch, *at, found, Chain::saw_newest),
                }
            }
        }
        // Behind the looks at the tails: what others stored before those is seen here.
        let asking = indexes(batch, |chain| chain.need() == Need::Watermark);
        for group in asking.chunks(READS) {
            let watermark = |at: &usize| batch.chains()[*at].watermark();
            let found = self
                .find_each(group.iter().map(watermark).collect())
                .await?;
            for (at, found) in group.iter().zip(found) {
                let bucket = found.first().map(|bucket| &**bucket);
                let stored = batch.chains_mut()[*at].saw_watermark(bucket);
                self.written.duplicates.extend(stored);
            }
        }
        Ok(())
    }

    fn tell_open(&mut self, batch: &mut Batch<T>, asking: &[usize], found: &[RawDocumentBuf]) {
        let mut open: HashMap<Vec<u8>, &RawDocumentBuf> = HashMap::with_capacity(found.len());
        for bucket in found {
            if let Ok(key) = read::stored_key::<T>(bucket) {
                open.insert(key, bucket);
            }
        }
        for at in asking {
            let chain = &mut batch.chains_mut()[*at];
            match open.get(chain.key()) {
                Some(bucket) => self.tell(batch, *at, Some(bucket), Chain::saw),
                None if chain.need() == Need::OpenBucket => chain.saw_none_open(),
                // The newest bucket is read next.
                None => {}
            }
        }
    }

    fn tell(
        &mut self,
        batch: &mut Batch<T>,
        at: usize,
        found: Option<&RawDocumentBuf>,
        told: fn(&mut Chain, &RawDocument) -> Result<(), DamagedBucket>,
    ) {
        let chain = &mut batch.chains_mut()[at];
        if let Some(bucket) = found
            && let Err(damage) = told(chain, bucket)
        {
            let left = chain.give_up();
            self.damaged(left, damage);
        }
    }

    pub(super) fn damaged(&mut self, records: Vec<usize>, damage: DamagedBucket) {
        let error = Error::new(ErrorKind::Damaged(damage), &self.context);
        self.written
            .failed
            .extend(records.into_iter().map(|index| (index, error.clone())));
    }

    /// The documents of each plan; at the same time, unless in a session.
    pub(super) async fn find_each(
        &mut self,
        plans: Vec<FindPlan>,
    ) -> Result<Vec<Vec<RawDocumentBuf>>, Error> {
        if self.session.is_none() {
            return try_join_all(plans.iter().map(|plan| self.find_alone(plan))).await;
        }
        let mut found = Vec::with_capacity(plans.len());
        for plan in &plans {
            found.push(self.find(plan).await?);
        }
        Ok(found)
    }

    /// Whether there is a bucket of this `_id`.
    pub(super) async fn has_bucket(&mut self, id: &str) -> Result<bool, Error> {
        Ok(!self.find(&read::by_id(id)).await?.is_empty())
    }

    async fn find(&mut self, plan: &FindPlan) -> Result<Vec<RawDocumentBuf>, Error> {
        if self.session.is_none() {
            return self.find_alone(plan).await;
        }
        let mut concern = self.commitment.read_concern(plan.level);
        if concern.is_some() && self.is_in_transaction().await? {
            // It has a read concern of its own, and stays with its primary or comes to nothing.
            concern = None;
        }
        let mut tries = 0;
        loop {
            let command = command::<T>(plan, concern.as_ref());
            let error = match self.read_in_session(command).await {
                Ok(reply) => {
                    self.commitment.saw(&reply);
                    return documents(&reply, &self.context);
                }
                Err(ReadError::Late(error)) => return Err(error),
                Err(ReadError::Driver(error)) => error,
            };
            // A transaction that lost its connection is the caller's to run again.
            if !Failure::of(&error).is_passing()
                || self.is_in_transaction().await?
                || !self.waits_for_another(&mut tries).await
            {
                return Err(Error::read_by(&plan.hint, error, &self.context));
            }
        }
    }

    async fn is_in_transaction(&mut self) -> Result<bool, Error> {
        let Some(session) = &mut self.session else {
            return Ok(false);
        };
        // A driver that has not met its server yet waits for it.
        timeout_at(self.deadline, session::is_in_transaction(session))
            .await
            .map_err(|_| no_answer_in_time(&self.context))
    }

    async fn find_alone(&self, plan: &FindPlan) -> Result<Vec<RawDocumentBuf>, Error> {
        let concern = self.commitment.read_concern(plan.level);
        match self.ask(&command::<T>(plan, concern.as_ref())).await {
            Ok(reply) => {
                self.commitment.saw(&reply);
                documents(&reply, &self.context)
            }
            Err(ReadError::Late(error)) => Err(error),
            Err(ReadError::Driver(error)) => Err(Error::read_by(&plan.hint, error, &self.context)),
        }
    }

    /// Outside of a session a read is tried again until the deadline, as long as the server may
    /// come back.
    pub(super) async fn ask(&self, command: &RawDocumentBuf) -> Result<Document, ReadError> {
        let mut tries = 0;
        loop {
            let error = match self.read(command.clone()).await {
                Err(ReadError::Driver(error)) => error,
                done => return done,
            };
            if !Failure::of(&error).is_passing() || !self.waits_for_another(&mut tries).await {
                return Err(ReadError::Driver(error));
            }
        }
    }

    /// Waits before another try; not if there is no time for one.
    async fn waits_for_another(&self, tries: &mut u32) -> bool {
        let ceiling = backoff::ceiling(FIRST_PAUSE_MS, *tries, LONGEST_PAUSE_MS);
        *tries = tries.saturating_add(1);
        let pause = backoff::spread(ceiling);
        let is_left = Instant::now() + pause < self.deadline;
        if is_left {
            sleep(pause).await;
        }
        is_left
    }
}

fn command<T: Record>(plan: &FindPlan, concern: Option<&RawDocumentBuf>) -> RawDocumentBuf {
    let mut command = plan.single_batch(T::SPEC.collection());
    if let Some(concern) = concern {
        command.append(cstr!("readConcern"), concern.clone());
    }
    command
}

fn documents(reply: &Document, context: &Context) -> Result<Vec<RawDocumentBuf>, Error> {
    first_batch(reply).ok_or_else(|| {
        let message = "the server's reply to `find` has no batch".to_owned();
        Error::new(ErrorKind::Driver { message }, context)
    })
}

fn first_batch(reply: &Document) -> Option<Vec<RawDocumentBuf>> {
    let batch = reply
        .get_document("cursor")
        .ok()?
        .get_array("firstBatch")
        .ok()?;
    batch
        .iter()
        .map(|found| RawDocumentBuf::try_from(found.as_document()?).ok())
        .collect()
}

pub(super) fn indexes<T: Record>(batch: &Batch<T>, wanted: impl Fn(&Chain) -> bool) -> Vec<usize> {
    let chains = batch.chains().iter().enumerate();
    chains
        .filter(|(_, chain)| wanted(chain))
        .map(|(at, _)| at)
        .collect()
}
