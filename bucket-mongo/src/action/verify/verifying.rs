//! The walk over the buckets, and the second looks.

use std::{collections::VecDeque, mem, time::Duration};

use bucket_core::{
    Record, TimeRange,
    check::{CheckPosition, Checker, Finding, Suspicion},
    read::ReadKey,
};
use mongodb::{
    Collection,
    bson::{DateTime, RawDocument, RawDocumentBuf},
};
use tokio::time::sleep;

use super::{indexes::Indexes, verify_report::VerifyProgress};
use crate::{
    Buckets, Error, ErrorKind, Result,
    action::scan,
    error::Context,
    read::{ReadOptions, Rows},
};

/// How many documents are checked between two pauses.
const TOGETHER: usize = 100;
/// How many suspicions wait until they are looked at again together ..
const MOST_SUSPECTED: usize = 256;
/// .. and for how many documents: another call would have to go on from there. Gaps wait until their key ends.
const LONGEST_SUSPECTED: u64 = 20_000;
/// How often a suspicion is looked at again.
const LOOKS: usize = 2;
/// Before each look. A writer's statement is done by then.
const BEFORE_LOOK: Duration = Duration::from_millis(150);

/// Takes how far a call is.
pub(in crate::action) type OnProgress<'a> = Box<dyn FnMut(&VerifyProgress) + Send + 'a>;

/// What a call was asked for.
pub(in crate::action) struct Asked<'a, T: Record> {
    pub(in crate::action) buckets: &'a Buckets<T>,
    pub(in crate::action) key: Option<T::Key>,
    pub(in crate::action) range: TimeRange,
    pub(in crate::action) after: Option<CheckPosition>,
    pub(in crate::action) pause: Duration,
    pub(in crate::action) on_progress: Option<OnProgress<'a>>,
    pub(in crate::action) options: ReadOptions<'a>,
}

/// A `verify` at work.
pub(in crate::action) struct Verifying<'a, T: Record> {
    buckets: Buckets<T>,
    context: Context,
    checker: Checker<T>,
    key: Option<ReadKey>,
    range: TimeRange,
    after: Option<CheckPosition>,
    pause: Duration,
    on_progress: Option<OnProgress<'a>>,
    options: ReadOptions<'a>,
    /// A cursor in a session has the session, which the second looks need.
    in_session: bool,
    rows: Option<Rows<'a>>,
    ready: VecDeque<Finding>,
    found: u64,
    /// The number of documents when the suspicions that wait were looked for last.
    looked_at: u64,
    /// What has ended it, until the findings before that are taken.
    failure: Option<Error>,
    /// How far it is after the last documents, until the caller hears of it.
    untold: Option<VerifyProgress>,
    ended: bool,
    has_seen_indexes: bool,
}

impl<'a, T: Record> Verifying<'a, T> {
    pub(in crate::action) fn new(asked: Asked<'a, T>) -> Self {
        let context = match &asked.key {
            Some(key) => Context::of::<T>("verify", key),
            None => Context::of_all::<T>("verify"),
        };
        Self {
            buckets: asked.buckets.clone(),
            context,
            checker: Checker::new(DateTime::now()).between(asked.range),
            key: asked.key.as_ref().map(ReadKey::of::<T>),
            range: asked.range,
            after: asked.after,
            pause: asked.pause,
            on_progress: asked.on_progress,
            in_session: asked.options.session.is_some(),
            options: asked.options,
            rows: None,
            ready: VecDeque::new(),
            found: 0,
            looked_at: 0,
            failure: None,
            untold: None,
            has_seen_indexes: false,
            ended: asked.range.is_empty() && !asked.range.is_reversed(),
        }
    }

    /// Where the indexes differ from the model's. If none forbids a record id in two buckets of a key, the walk looks
    /// for that.
    pub(super) async fn indexes(&mut self) -> Result<Vec<String>> {
        self.has_seen_indexes = true;
        let indexes = Indexes::of(&self.buckets, "verify").await?;
        let indexes = indexes.unwrap_or_default();
        if !indexes.forbid_shared_ids {
            self.checker.compare_record_ids();
        }
        Ok(indexes.without(&[]))
    }

    /// The next finding. An error is the last.
    pub(in crate::action) async fn next(&mut self) -> Option<Result<Finding>> {
        loop {
            if let Some(finding) = self.ready.pop_front() {
                return Some(Ok(finding));
            }
            // Whoever goes on from its position has all findings before it.
            if let (Some(progress), Some(tell)) = (self.untold.take(), &mut self.on_progress) {
                tell(&progress);
            }
            if let Some(error) = self.failure.take() {
                return Some(Err(error));
            }
            if self.ended {
                return None;
            }
            if let Err(error) = self.go_on().await {
                self.ended = true;
                self.rows = None;
                self.failure = Some(error);
            }
        }
    }

    pub(super) fn progress(&self) -> VerifyProgress {
        VerifyProgress {
            buckets: self.checker.buckets(),
            records: self.checker.records(),
            keys: self.checker.keys(),
            findings: self.found,
            position: self.checker.position(),
            parts_of_ids: self.checker.parts_of_ids(),
        }
    }

    /// Checks the next documents.
    async fn go_on(&mut self) -> Result<()> {
        if !self.has_seen_indexes && T::SPEC.unique().is_some() {
            self.indexes().await?;
        }
        let collection = self.collection().await?;
        self.open(&collection).await?;
        let is_at_end = self.take().await?;
        let is_over = is_at_end && !self.checker.goes_on();
        if is_at_end {
            self.close();
        }
        if is_over {
            self.checker.end();
        }
        let found = self.checker.findings();
        self.report(found);
        if is_over || self.is_due() {
            self.look_again(&collection).await?;
        }
        self.ended = is_over;
        self.untold = Some(self.progress());
        if !is_over && !self.pause.is_zero() {
            sleep(self.pause).await;
        }
        Ok(())
    }

    /// Whether suspicions have to be looked at again.
    fn is_due(&mut self) -> bool {
        let suspected = self.checker.suspected();
        if suspected == 0 {
            self.looked_at = self.checker.buckets();
        }
        suspected >= MOST_SUSPECTED
            || self.checker.buckets().saturating_sub(self.looked_at) >= LONGEST_SUSPECTED
    }

    async fn collection(&mut self) -> Result<Collection<RawDocumentBuf>> {
        let store = self.buckets.store();
        if self.rows.is_some() {
            return Ok(store.collection());
        }
        store
            .readable_anytime(&mut self.options, &self.context)
            .await
    }

    /// Opens a cursor, if there is none.
    async fn open(&mut self, collection: &Collection<RawDocumentBuf>) -> Result<()> {
        if self.rows.is_some() {
            return Ok(());
        }
        let invalid = |message| Error::new(ErrorKind::InvalidArgument { message }, &self.context);
        if self.range.is_reversed() {
            return Err(invalid("the time range ends before it starts".to_owned()));
        }
        if let Some(position) = self.after.take() {
            let after = self.checker.after(&position);
            after.map_err(|error| invalid(error.to_string()))?;
        }
        let plan = self.checker.plan(self.key.as_ref());
        let together = (!self.pause.is_zero()).then_some(TOGETHER);
        let together = together.and_then(|together| u32::try_from(together).ok());
        let options = mem::take(&mut self.options);
        // The second looks have the same terms and the same deadline.
        self.options.terms = options.terms.clone();
        let rows = scan::open(collection, plan, together, options, &self.context).await?;
        self.rows = Some(rows);
        Ok(())
    }

    fn close(&mut self) {
        if let Some(rows) = self.rows.take() {
            self.options = rows.into_options();
        }
    }

    /// Whether there are no more.
    async fn take(&mut self) -> Result<bool> {
        let Some(rows) = &mut self.rows else {
            return Ok(true);
        };
        for _ in 0..TOGETHER {
            let next = rows.next(&|_| 0).await;
            let Some(stored) = next.map_err(|fault| Error::read(fault, &self.context))? else {
                return Ok(true);
            };
            let limits = |key: &T::Key| self.buckets.limits_of(key);
            self.checker.take(stored, limits);
        }
        Ok(false)
    }

    fn report(&mut self, found: Vec<Finding>) {
        self.found += u64::try_from(found.len()).unwrap_or(u64::MAX);
        self.ready.extend(found);
    }

    /// Reports those of the suspicions that still hold.
    async fn look_again(&mut self, collection: &Collection<RawDocumentBuf>) -> Result<()> {
        if self.in_session && self.rows.is_some() {
            // The cursor has the session: another one goes on from here.
            self.close();
            self.checker.reopen();
        }
        let mut suspicions = self.checker.suspicions();
        for _ in 0..LOOKS {
            if suspicions.is_empty() {
                break;
            }
            sleep(BEFORE_LOOK).await;
            let mut left = Vec::with_capacity(suspicions.len());
            for suspicion in suspicions {
                left.extend(self.after_look(suspicion, collection).await?);
            }
            suspicions = left;
        }
        let found = suspicions.into_iter().map(Suspicion::into_finding);
        self.report(found.collect());
        self.checker.looked();
        self.looked_at = self.checker.buckets();
        Ok(())
    }

    async fn after_look(
        &mut self,
        suspicion: Suspicion,
        collection: &Collection<RawDocumentBuf>,
    ) -> Result<Option<Suspicion>> {
        let failed = |fault| Error::read(fault, &self.context);
        let plan = suspicion.plan(T::SPEC);
        let rows = Rows::open(collection, vec![plan], 0, self.options.lend()).await;
        let mut rows = rows.map_err(failed)?;
        let mut found = Vec::new();
        while let Some(stored) = rows.next(&|_| 0).await.map_err(failed)? {
            found.push(RawDocument::to_owned(stored));
        }
        let limits = |key: &T::Key| self.buckets.limits_of(key);
        Ok(suspicion.after_look::<T>(&found, limits))
    }
}
