//! Runs an edit: does what core says next. Core decides what to read and send, and what a reply means.

#[cfg(feature = "seal")]
use std::time::Duration;

use bucket_core::{
    Record,
    edit::{Edit, EditError, EditFailure, EditNext, Edited, made_by},
    index::{self, Unmet},
    read::{FindPlan, ReadLevel},
    write::{Answer, Listing, codes::NAMESPACE_NOT_FOUND},
};
use mongodb::{
    ClientSession, Collection,
    bson::{DateTime, RawDocumentBuf},
    options::{ReadConcern, ReadPreference, SelectionCriteria, WriteConcern},
};
use tokio::time::{Instant, sleep, timeout_at};

use super::again;
use crate::{
    Buckets, Error, ErrorKind, RecordOutcome, Result,
    action::insert_one::insert_one,
    backoff,
    collection::{collection, list_indexes},
    error::{Context, NotKnown, ReadFault},
    read::{ReadOptions, Rows},
    write_concern::raw_write_concern,
    writer::{
        Channel, LONGEST_DEADLINE, Settings, Writer, faults::code, is_in_transaction,
        not_sent_in_time,
    },
};

/// When a call with these settings ends.
pub(crate) fn deadline<T: Record>(buckets: &Buckets<T>, settings: &Settings) -> Instant {
    let patience = settings.deadline.unwrap_or(buckets.store().deadline());
    Instant::now() + patience.min(LONGEST_DEADLINE)
}

/// The edits of one call.
pub(in crate::action) struct Editing<'a, T: Record> {
    pub(super) buckets: &'a Buckets<T>,
    /// The collection that is read, if it is not the model's.
    collection: Option<&'a str>,
    session: Option<&'a mut ClientSession>,
    /// `None` until the session was asked.
    in_transaction: Option<bool>,
    write_concern: Option<RawDocumentBuf>,
    deadline: Instant,
    settings: Settings,
    begun: Instant,
    context: Context,
    /// A removal has removed something.
    has_removed: bool,
    /// A read ends with the bucket that makes it larger than this, in bytes.
    most_bytes: usize,
}

/// The outcome of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::action) enum Sent {
    /// It was applied to this number of documents.
    Made(u64),
    /// Another writer came first: nothing was changed.
    Lost,
}

impl Sent {
    /// The number of documents.
    pub(in crate::action) const fn made(self) -> u64 {
        match self {
            Self::Made(documents) => documents,
            Self::Lost => 0,
        }
    }
}

impl<'a, T: Record> Editing<'a, T> {
    pub(in crate::action) fn new(
        buckets: &'a Buckets<T>,
        session: Option<&'a mut ClientSession>,
        settings: &Settings,
        context: Context,
    ) -> Result<Self> {
        let store = buckets.store();
        // In a transaction a command has no write concern of its own.
        let default: Option<&WriteConcern> = session.is_none().then(|| store.write_concern());
        let concern = settings.write_concern.as_ref().or(default);
        let begun = Instant::now();
        Ok(Self {
            buckets,
            collection: None,
            session,
            in_transaction: None,
            write_concern: raw_write_concern(concern, &context)?,
            deadline: deadline(buckets, settings),
            settings: settings.clone(),
            begun,
            context,
            has_removed: false,
            most_bytes: usize::MAX,
        })
    }

    /// The same, with this deadline.
    pub(in crate::action) fn until(mut self, deadline: Instant) -> Self {
        self.settings.deadline = Some(deadline.saturating_duration_since(self.begun));
        self.deadline = deadline;
        self
    }

    /// The same, with reads that end with the bucket that makes them larger than this, in bytes.
    #[cfg(feature = "seal")]
    pub(in crate::action) const fn at_most(mut self, bytes: usize) -> Self {
        self.most_bytes = bytes;
        self
    }

    /// From here on it reads this collection.
    pub(in crate::action) fn goes_on_in(&mut self, collection: &'a str) {
        self.collection = Some(collection);
    }

    /// Reads and changes the collection of the model again.
    pub(super) fn comes_back(&mut self) {
        self.collection = None;
    }

    /// Makes an edit, or looks what it would make.
    pub(super) async fn run(&mut self, edit: Edit<'_, T>, is_dry: bool) -> Result<Edited<T>> {
        let edited = self.attempt(edit, is_dry).await?;
        edited.map_err(|failure| self.failed(failure))
    }

    /// The same; the inner error is why the edit has made nothing.
    pub(super) async fn attempt(
        &mut self,
        edit: Edit<'_, T>,
        is_dry: bool,
    ) -> Result<Result<Edited<T>, EditFailure>> {
        if !self.buckets.store().cache().is_own() {
            self.check_collection().await?;
        }
        let mut edit = if is_dry { edit.dry_run() } else { edit };
        if !self.is_certain().await? {
            edit = edit.weak();
        }
        let ended = self.go_through(&mut edit).await;
        self.has_removed |= edit.has_removed();
        ended.map(|()| edit.end())
    }

    async fn go_through(&mut self, edit: &mut Edit<'_, T>) -> Result<()> {
        loop {
            match edit.next() {
                EditNext::Read(plan) => {
                    let found = match plan.level {
                        ReadLevel::Local => self.read(*plan).await?,
                        _ => self.certain(*plan).await?,
                    };
                    edit.found(&found, DateTime::now());
                }
                EditNext::Send {
                    command,
                    statements,
                } => {
                    let answer = self.deliver(command, statements).await?;
                    edit.answered(&answer, Instant::now() >= self.deadline);
                }
                EditNext::Pause { ceiling } => {
                    sleep(backoff::between(0, ceiling)).await;
                    edit.paused();
                }
                EditNext::Done => return Ok(()),
            }
        }
    }

    /// A removal outside of the model's buckets has removed this number of documents.
    pub(super) fn removed(&mut self, documents: u64) -> u64 {
        self.has_removed |= documents > 0;
        documents
    }

    /// The error of a removal, which says so if some records are gone by then. A transaction undoes that.
    pub(super) fn in_part(&self, error: Error) -> Error {
        if self.has_removed && self.in_transaction != Some(true) {
            return error.removed_in_part(&self.context);
        }
        error
    }

    /// Inserts a record that another bucket takes, in the session.
    pub(super) async fn insert(&mut self, record: &T) -> Result<RecordOutcome> {
        let patience = self.deadline.saturating_duration_since(Instant::now());
        let settings = Settings {
            deadline: Some(patience),
            ..Settings::default()
        };
        let context = Context::of::<T>(self.context.operation, &record.key());
        let session = self.session.as_deref_mut();
        // It replaces nothing that the other bucket's key has, whatever the model says of conflicts.
        let inserted = insert_one(self.buckets, record, session, &settings, context).await?;
        Ok(inserted.outcome)
    }

    /// Ends the transaction of the session, so that it cannot be committed.
    pub(super) async fn abort(&mut self) {
        if let Some(session) = self.session.as_deref_mut() {
            // Without a reply the driver still refuses to commit it.
            let aborted = timeout_at(self.deadline, session.abort_transaction()).await;
            drop(aborted);
        }
    }

    /// Refuses the collection of another model, where nothing else would: these commands name no index that only one model has.
    pub(in crate::action) async fn check_collection(&mut self) -> Result<()> {
        let (store, spec) = (self.buckets.store(), T::SPEC);
        let (database, begun) = (store.database(), Instant::now());
        loop {
            let listed = timeout_at(self.deadline, list_indexes(database, spec.collection()));
            let error = match listed.await {
                Ok(Ok(found)) => {
                    return match index::unmet(spec, &found) {
                        Some(Unmet::Differs(drift)) if drift.belongs_to_others() => {
                            let kind = ErrorKind::Drift(Box::new(drift));
                            Err(Error::new(kind, &self.context))
                        }
                        _ => {
                            store.cache().saw_own(begun.into_std());
                            Ok(())
                        }
                    };
                }
                // There is no collection, or no right to list its indexes.
                Ok(Err(error)) if code(&error).and_then(Listing::of_error).is_some() => {
                    return Ok(());
                }
                Ok(Err(error)) => Error::read(error, &self.context),
                Err(_) => Error::read(ReadFault::Late, &self.context),
            };
            if error.code() == Some(NAMESPACE_NOT_FOUND) {
                return Ok(());
            }
            again::passes(error, self.deadline).await?;
        }
    }

    /// The time until the deadline.
    #[cfg(feature = "seal")]
    pub(super) fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    pub(super) fn context(&self) -> &Context {
        &self.context
    }

    /// Whether what it says must outlast a failover. A transaction does that at its commit.
    pub(in crate::action) async fn is_certain(&mut self) -> Result<bool> {
        Ok(!self.is_in_transaction().await? && self.writer()?.is_for_good())
    }

    /// Reads as a write does.
    fn writer(&mut self) -> Result<Writer<'_>> {
        let session = self.session.as_deref_mut();
        let (store, context) = (self.buckets.store(), self.context.clone());
        let writer = Writer::new(store, session, &self.settings, context)?;
        let writer = match self.collection {
            Some(collection) => writer.of_collection(collection),
            None => writer,
        };
        Ok(writer.since(self.begun))
    }

    pub(super) async fn is_in_transaction(&mut self) -> Result<bool> {
        if let Some(known) = self.in_transaction {
            return Ok(known);
        }
        let found = match &mut self.session {
            None => false,
            Some(session) => is_in_transaction(session, self.deadline)
                .await
                .map_err(|_| not_sent_in_time(&self.context))?,
        };
        self.in_transaction = Some(found);
        Ok(found)
    }

    /// Reads what a plan finds, on the primary.
    pub(in crate::action) async fn read(&mut self, plan: FindPlan) -> Result<Vec<RawDocumentBuf>> {
        loop {
            match self.read_once(plan.clone()).await {
                Ok(found) => return Ok(found),
                Err(error) => self.passes(error).await?,
            }
        }
    }

    /// Reads what a majority has, and not less than what the primary has now.
    pub(in crate::action) async fn certain(
        &mut self,
        plan: FindPlan,
    ) -> Result<Vec<RawDocumentBuf>> {
        self.writer()?.certain(plan).await
    }

    /// The options of a read of what an edit changes: on the primary, because another member may not have it
    /// yet. A transaction is there already.
    pub(super) async fn options(&mut self) -> Result<ReadOptions<'_>> {
        let deadline = self.deadline;
        let in_transaction = self.is_in_transaction().await?;
        let mut options = ReadOptions {
            session: self.session.as_deref_mut(),
            ..ReadOptions::default()
        };
        options.terms.deadline = Some(deadline.saturating_duration_since(Instant::now()));
        if !in_transaction {
            let primary = SelectionCriteria::ReadPreference(ReadPreference::Primary);
            options.terms.criteria = Some(primary);
        }
        Ok(options)
    }

    /// Waits, if this error of a read passes. A transaction has to begin again.
    pub(super) async fn passes(&mut self, error: Error) -> Result<()> {
        if self.is_in_transaction().await? {
            return Err(error);
        }
        again::passes(error, self.deadline).await
    }

    async fn read_once(&mut self, plan: FindPlan) -> Result<Vec<RawDocumentBuf>> {
        let (store, context) = (self.buckets.store(), self.context.clone());
        let (other, most_bytes) = (self.collection, self.most_bytes);
        let mut options = self.options().await?;
        if options.session.is_none() {
            options.terms.concern = Some(ReadConcern::local());
        }
        let collection: Collection<RawDocumentBuf> = match other {
            None => {
                let collection = store.readable_anytime(&mut options, &context).await?;
                // A statement has to match what the bucket itself has.
                options.terms.archived = None;
                collection
            }
            Some(other) => {
                options.begin(&context).await?;
                collection(store.database(), other)
            }
        };
        let index = plan.hint.clone();
        let failed = |fault| Error::read_by(&index, fault, &context);
        let mut rows = Rows::open(&collection, vec![plan], 0, options)
            .await
            .map_err(failed)?;
        let (mut found, mut bytes) = (Vec::new(), 0);
        while let Some(stored) = rows.next(&|_| 0).await.map_err(failed)? {
            bytes += stored.as_bytes().len();
            found.push(stored.to_owned());
            if bytes > most_bytes {
                break;
            }
        }
        Ok(found)
    }

    /// Sends a statement that matches only the state that was read, or several.
    pub(in crate::action) async fn send(
        &mut self,
        command: RawDocumentBuf,
        statements: usize,
    ) -> Result<Sent> {
        let answer = self.deliver(command, statements).await?;
        let made = made_by(&answer).map_err(|failure| self.failed(failure))?;
        Ok(made.map_or(Sent::Lost, Sent::Made))
    }

    async fn deliver(&mut self, command: RawDocumentBuf, statements: usize) -> Result<Answer> {
        let channel = Channel {
            database: self.buckets.store().database(),
            cache: self.buckets.cache(),
            write_concern: self.write_concern.as_deref(),
            deadline: self.deadline,
            context: &self.context,
        };
        let session = self.session.as_deref_mut();
        channel.deliver(session, command, statements).await
    }

    pub(super) fn failed(&self, failure: EditFailure) -> Error {
        let kind = match failure {
            EditFailure::Which(error) => {
                let message = error.to_string();
                ErrorKind::InvalidArgument { message }
            }
            EditFailure::Edit(EditError::Encode(source)) => ErrorKind::Encode(source),
            EditFailure::Edit(EditError::Damaged(damage)) => ErrorKind::Damaged(damage),
            EditFailure::Edit(EditError::Overflow(source)) => ErrorKind::Overflow(source),
            EditFailure::Edit(
                EditError::UnclearField { path, .. } | EditError::ReadsLess { path, .. },
            ) => ErrorKind::UnknownField { path },
            EditFailure::Edit(moves) => {
                let message = moves.to_string();
                ErrorKind::Moves { message }
            }
            EditFailure::Changed => ErrorKind::Changed,
            EditFailure::Contention { attempts } => ErrorKind::Contention { attempts },
            EditFailure::Refused(failure) => {
                return Error::refused_document(&failure, &self.context);
            }
            EditFailure::Unconfirmed(failure) => {
                return Error::not_known(NotKnown::Concern(&failure), &self.context);
            }
            EditFailure::LostTry => NotKnown::LostTry.into(),
        };
        Error::new(kind, &self.context)
    }
}
