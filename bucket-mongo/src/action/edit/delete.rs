//! `delete`: removes one record from its bucket.

use std::time::Duration;

use bucket_core::{Record, edit::Edit};
use mongodb::{ClientSession, options::WriteConcern};
use tracing::Instrument;

use super::editing::Editing;
#[cfg(doc)]
use crate::ErrorKind;
use crate::{
    Buckets, Result, Which, action::ActionFuture, error::Context, trace,
    write_setters::write_setters, writer::Settings,
};

impl<T: Record> Buckets<T> {
    /// Removes one record: the one with this record id, or the one that a read gave with this reference.
    /// Returns the record as it was; `None` if there is no such record, or it was removed before.
    ///
    /// Nothing else moves. A mark stays in the place of the record, with its time and its record id, so pages
    /// keep their numbers, full buckets stay full, and cursor tokens and references to other records stay
    /// valid. The aggregates of the bucket are those of the records that are left, in the same statement.
    ///
    /// A record that is delivered again after that, by its record id or its position in a source, is still a
    /// duplicate; with `forget_ids`, its id is not.
    ///
    /// Settings: `dry_run`, `forget_ids`, `session`, `write_concern`, `deadline`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Changed`] if the record was edited after the reference was read;
    /// [`ErrorKind::InvalidArgument`] for a text that is no reference to a record of the key, or an id in a
    /// model without record ids; [`ErrorKind::Damaged`] if its bucket is damaged;
    /// [`ErrorKind::OutcomeUnknown`] if it may be removed and there was no reply before the deadline: call it
    /// again.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result, Which};
    /// async fn forget<T: Bucketed>(payments: &Buckets<T>, account: T::Key, id: &str) -> Result<bool> {
    ///     Ok(payments.delete(account, Which::id(id)).await?.is_some())
    /// }
    /// ```
    pub fn delete(&self, key: impl Into<T::Key>, which: impl Into<Which>) -> Delete<'_, T> {
        Delete {
            buckets: self,
            key: key.into(),
            which: which.into(),
            is_dry: false,
            forgets_ids: false,
            session: None,
            settings: Settings::default(),
        }
    }
}

/// A removal of one record; see [`Buckets::delete`].
#[must_use = "nothing is removed until this is awaited"]
#[derive(Debug)]
pub struct Delete<'a, T: Record> {
    buckets: &'a Buckets<T>,
    key: T::Key,
    which: Which,
    is_dry: bool,
    forgets_ids: bool,
    session: Option<&'a mut ClientSession>,
    settings: Settings,
}

impl<'a, T: Record> Delete<'a, T> {
    /// Leaves no record id in the mark: a record that is delivered again under the id is stored anew. Of a
    /// record that was removed before, forgets the id, and returns `None`. Without effect in models without
    /// record ids, and on positions of sources.
    pub fn forget_ids(mut self) -> Self {
        self.forgets_ids = true;
        self
    }

    /// Only looks: returns the record that would be removed.
    pub fn dry_run(mut self) -> Self {
        self.is_dry = true;
        self
    }

    write_setters! {
        /// Runs the operation in this session.
        session,
        /// Sets how long the removal is retried; see [`Buckets::with_deadline`].
        deadline,
        /// Sets the write concern instead of the handle's. In a session the default is the session's.
        write_concern,
    }

    async fn run(self) -> Result<Option<T>> {
        let context = Context::of::<T>("delete", &self.key);
        let mut editing = Editing::new(self.buckets, self.session, &self.settings, context)?;
        let mut edit = Edit::delete(self.key, &self.which);
        if self.forgets_ids {
            edit = edit.forget_ids();
        }
        let edited = editing.run(edit, self.is_dry).await?;
        let found = edited.record.is_some();
        tracing::debug!(target: trace::WRITE, found, "delete");
        Ok(edited.record)
    }
}

impl<'a, T: Record> IntoFuture for Delete<'a, T> {
    type Output = Result<Option<T>>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let collection = T::SPEC.collection();
        let span = tracing::debug_span!(target: trace::WRITE, "delete", collection);
        Box::pin(self.run().instrument(span))
    }
}
