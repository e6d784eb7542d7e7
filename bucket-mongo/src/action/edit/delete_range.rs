//! `delete_range`: removes the records of a key in a range of time.

use std::time::Duration;

use bucket_core::{IntoTimeRange, Record, TimeRange};
use mongodb::{ClientSession, options::WriteConcern};
use tracing::Instrument;

use super::{Removed, editing::Editing, removal::Removal};
#[cfg(doc)]
use crate::ErrorKind;
use crate::{
    Buckets, Result, action::ActionFuture, error::Context, trace, write_setters::write_setters,
    writer::Settings,
};

impl<T: Record> Buckets<T> {
    /// Removes the records of a key whose time is in the range: `from..to`, `from..`, `..to`. Returns how many
    /// records were removed, of how many buckets.
    ///
    /// Every record that was stored at the start of the call is removed. One that is stored meanwhile may stay.
    /// Each bucket is edited by one statement, as by [`delete`](Self::delete): pages, tokens and aggregates
    /// stay right. A call that ends with [`RemovedInPart`](ErrorKind::RemovedInPart) has removed the records of some buckets: call
    /// it again.
    ///
    /// Settings: `dry_run`, `forget_ids`, `session`, `write_concern`, `deadline`. The deadline is that of the whole call.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] for a range that ends before it starts; [`ErrorKind::Damaged`] if a
    /// bucket is damaged; [`ErrorKind::OutcomeUnknown`] if the records of a bucket may be removed and there was
    /// no reply before the deadline.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result, bson::DateTime};
    /// async fn forget<T: Bucketed>(buckets: &Buckets<T>, key: T::Key, until: DateTime) -> Result<u64> {
    ///     let removed = buckets.delete_range(key, ..until).await?;
    ///     Ok(removed.records)
    /// }
    /// ```
    pub fn delete_range(
        &self,
        key: impl Into<T::Key>,
        range: impl IntoTimeRange,
    ) -> DeleteRange<'_, T> {
        DeleteRange {
            buckets: self,
            key: key.into(),
            range: range.into_time_range(),
            is_dry: false,
            forgets_ids: false,
            session: None,
            settings: Settings::default(),
        }
    }
}

/// A removal of the records of a key in a range of time; see [`Buckets::delete_range`].
#[must_use = "nothing is removed until this is awaited"]
#[derive(Debug)]
pub struct DeleteRange<'a, T: Record> {
    buckets: &'a Buckets<T>,
    key: T::Key,
    range: TimeRange,
    is_dry: bool,
    forgets_ids: bool,
    session: Option<&'a mut ClientSession>,
    settings: Settings,
}

impl<'a, T: Record> DeleteRange<'a, T> {
    /// Leaves no record ids in the marks: a record that is delivered again under one of them is stored anew.
    /// Without effect in models without record ids, and on positions of sources.
    pub fn forget_ids(mut self) -> Self {
        self.forgets_ids = true;
        self
    }

    /// Only counts: returns what would be removed.
    pub fn dry_run(mut self) -> Self {
        self.is_dry = true;
        self
    }

    write_setters! {
        /// Runs the operation in this session.
        session,
        /// Sets how long the whole call may take, instead of the handle's [deadline](Buckets::with_deadline).
        deadline,
        /// Sets the write concern instead of the handle's. In a session the default is the session's.
        write_concern,
    }

    async fn run(self) -> Result<Removed> {
        let context = Context::of::<T>("delete_range", &self.key);
        let editing = Editing::new(self.buckets, self.session, &self.settings, context)?;
        let removal = Removal {
            operation: "delete_range",
            key: self.key,
            range: self.range,
            filter: None,
            is_dry: self.is_dry,
            forgets_ids: self.forgets_ids,
        };
        removal.run(editing).await
    }
}

impl<'a, T: Record> IntoFuture for DeleteRange<'a, T> {
    type Output = Result<Removed>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let collection = T::SPEC.collection();
        let span = tracing::debug_span!(target: trace::WRITE, "delete_range", collection);
        Box::pin(self.run().instrument(span))
    }
}
