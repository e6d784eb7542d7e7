//! `update`: corrects one record in its bucket.

use std::{fmt, time::Duration};

use bucket_core::{Record, edit::Change};
use mongodb::{ClientSession, options::WriteConcern};
use tracing::Instrument;

use super::correction::Correction;
#[cfg(doc)]
use crate::ErrorKind;
use crate::{
    Buckets, Result, Which, action::ActionFuture, error::Context, trace,
    write_setters::write_setters, writer::Settings,
};

impl<T: Record> Buckets<T> {
    /// Corrects one record: the one with this record id, or the one that a read gave with this reference.
    /// `change` gets the record as it is stored. Returns it as it is stored now; `None` if there is no such
    /// record, or it was removed.
    ///
    /// The record keeps its place. The aggregates of the bucket are those of its records as they are now, in
    /// the same statement. If another writer changes the bucket at the same time, the call reads it again, and
    /// calls `change` again, so `change` should do nothing else.
    ///
    /// The record id stays. A new key, or a time that the record's bucket does not take, moves the record to
    /// another bucket, in a transaction: no reader sees both or none. Windows take the times inside of them,
    /// hybrid buckets those between their first and last record, other buckets any. Where the record was, a
    /// mark stays, as after a removal. A move takes a replica set or a sharded cluster.
    ///
    /// Settings: `dry_run`, `session`, `write_concern`, `deadline`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnknownField`] if `change` changes an array so that the place of something in it that the model does
    /// not know is not clear, or an aggregate of records of which the model reads less than is stored; [`ErrorKind::Changed`] if the record was edited after the reference was read; [`ErrorKind::Moves`] if
    /// `change` changes the record id, or moves the record on a standalone server; those of an insert if the
    /// other bucket refuses the record; [`ErrorKind::Encode`] if the new record cannot be stored, as for an
    /// insert; [`ErrorKind::InvalidArgument`] for a text that is no reference to a record of the key, or an
    /// id in a model without record ids; [`ErrorKind::Damaged`] if its bucket is damaged;
    /// [`ErrorKind::OutcomeUnknown`] if it may be corrected and there was no reply before the deadline.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result, bson::DateTime};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Bucketed)]
    /// # #[bucket(collection = "readings", items = "readings", window = "1h")]
    /// # struct Reading {
    /// #     #[bucket(key)] device: String,
    /// #     #[bucket(time)] at: DateTime,
    /// #     #[bucket(sum)] value: f64,
    /// # }
    /// # async fn f(readings: &Buckets<Reading>) -> Result<()> {
    /// let page = readings.records("a").with_refs().await?;
    /// for read in page.into_records() {
    ///     if read.record.value > 100.0 {
    ///         readings.update("a", &read.reference, |reading| reading.value /= 10.0).await?;
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn update<'a>(
        &'a self,
        key: impl Into<T::Key>,
        which: impl Into<Which>,
        change: impl FnMut(&mut T) + Send + 'a,
    ) -> Update<'a, T> {
        Update {
            buckets: self,
            key: key.into(),
            which: which.into(),
            change: Box::new(change),
            is_dry: false,
            session: None,
            settings: Settings::default(),
        }
    }
}

/// A correction of one record; see [`Buckets::update`].
#[must_use = "nothing is stored until this is awaited"]
pub struct Update<'a, T: Record> {
    buckets: &'a Buckets<T>,
    key: T::Key,
    which: Which,
    change: Box<dyn FnMut(&mut T) + Send + 'a>,
    is_dry: bool,
    session: Option<&'a mut ClientSession>,
    settings: Settings,
}

impl<T: Record> fmt::Debug for Update<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Update")
            .field("key", &self.key)
            .field("which", &self.which)
            .field("is_dry", &self.is_dry)
            .finish_non_exhaustive()
    }
}

impl<'a, T: Record> Update<'a, T> {
    /// Stores nothing: returns the record as it would be stored, or the error.
    pub fn dry_run(mut self) -> Self {
        self.is_dry = true;
        self
    }

    write_setters! {
        /// Runs the operation in this session.
        session,
        /// Sets how long the correction is retried; see [`Buckets::with_deadline`].
        deadline,
        /// Sets the write concern instead of the handle's. In a session the default is the session's.
        write_concern,
    }

    async fn run(self) -> Result<Option<T>> {
        let correction = Correction {
            buckets: self.buckets,
            context: Context::of::<T>("update", &self.key),
            key: self.key,
            which: self.which,
            change: Change::Update(self.change),
            is_dry: self.is_dry,
        };
        let edited = correction.make(self.session, &self.settings).await?;
        Ok(edited.record)
    }
}

impl<'a, T: Record> IntoFuture for Update<'a, T> {
    type Output = Result<Option<T>>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let collection = T::SPEC.collection();
        let span = tracing::debug_span!(target: trace::WRITE, "update", collection);
        Box::pin(self.run().instrument(span))
    }
}
