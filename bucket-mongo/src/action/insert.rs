//! `insert`: stores one record, with one statement if a bucket of its key is open.

use std::time::Duration;

use bson::DateTime;
use bucket_core::{Record, write::Batch};
use mongodb::{ClientSession, options::WriteConcern};
use tracing::Instrument;

use super::{ActionFuture, RecordOutcome};
use crate::{
    Buckets, Error, ErrorKind, Result,
    error::Context,
    trace,
    write_setters::write_setters,
    writer::{Settings, Writer, Written},
};

impl<T: Record> Buckets<T> {
    /// Stores one record in the open bucket of its key, or in a new one.
    ///
    /// If this handle or a clone of it has written to the key's open bucket before, this is one statement and
    /// one round trip, however many buckets the key has. The first record of a key, and each record that
    /// opens a bucket, takes one to three more.
    ///
    /// Settings: `session`, `write_concern`, `deadline`.
    ///
    /// # Errors
    ///
    /// With [`ErrorKind::OutcomeUnknown`] the record may be stored; with every other error this call did not store it.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn store<T: Bucketed>(buckets: &Buckets<T>, record: &T) -> Result<()> {
    ///     let inserted = buckets.insert(record).await?;
    ///     if inserted.opened_bucket {
    ///         println!("a new page has begun");
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn insert<'a>(&'a self, record: &'a T) -> Insert<'a, T> {
        Insert {
            buckets: self,
            record,
            session: None,
            settings: Settings::default(),
        }
    }
}

/// An insert of one record; see [`Buckets::insert`].
#[must_use = "nothing is stored until this is awaited"]
#[derive(Debug)]
pub struct Insert<'a, T: Record> {
    buckets: &'a Buckets<T>,
    record: &'a T,
    session: Option<&'a mut ClientSession>,
    settings: Settings,
}

/// The result of [`Buckets::insert`].
///
/// ```
/// fn describe(inserted: bucket_mongo::Inserted) -> &'static str {
///     if inserted.opened_bucket { "new page" } else { "same page" }
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inserted {
    /// Whether the record opened a bucket.
    pub opened_bucket: bool,
    /// [`Stored`](RecordOutcome::Stored), or [`Duplicate`](RecordOutcome::Duplicate) if the record has an id
    /// and was already stored.
    pub outcome: RecordOutcome,
}

impl<'a, T: Record> Insert<'a, T> {
    write_setters! {
        /// Runs the operation in this session. In a transaction the first write conflict ends the
        /// transaction, as the server requires; the error then carries the label `TransientTransactionError`.
        session,
        /// Sets how long the write is retried; see [`Buckets::with_deadline`].
        deadline,
        /// Sets the write concern instead of the handle's. In a session the default is the session's.
        write_concern,
    }

    async fn run(self) -> Result<Inserted> {
        let context = Context::of::<T>("insert", &self.record.key());
        let mut batch = Batch::of::<T>();
        batch.set_now(DateTime::now());
        batch
            .push_with(0, self.record, self.buckets.limits(self.record))
            .map_err(|source| Error::new(ErrorKind::Encode(source), &context))?;
        let writer = Writer::new(self.buckets.store(), self.session, &self.settings, context)?;
        let Written {
            opened,
            commands,
            resent,
            missed,
            failed,
            duplicates,
            ..
        } = writer.store(&mut batch).await;
        tracing::debug!(target: trace::WRITE, commands, resent, missed, opened = opened.len(), failed = failed.len(), duplicates = duplicates.len(), "insert");
        match failed.into_iter().next() {
            Some((_, error)) => Err(error),
            None => Ok(Inserted {
                opened_bucket: !opened.is_empty(),
                outcome: if duplicates.is_empty() {
                    RecordOutcome::Stored
                } else {
                    RecordOutcome::Duplicate
                },
            }),
        }
    }
}

impl<'a, T: Record> IntoFuture for Insert<'a, T> {
    type Output = Result<Inserted>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span = tracing::debug_span!(
            target: trace::WRITE,
            "insert",
            collection = T::SPEC.collection(),
        );
        Box::pin(self.run().instrument(span))
    }
}
