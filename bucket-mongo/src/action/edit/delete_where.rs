//! `delete_where`: removes the records of a key that meet a filter.

use std::time::Duration;

use bucket_core::{AttributeFilter, IntoTimeRange, Record, TimeRange};
use mongodb::{ClientSession, options::WriteConcern};
use tracing::Instrument;

use super::{Removed, editing::Editing, removal::Removal};
use crate::{
    Buckets, Result, action::ActionFuture, error::Context, trace, write_setters::write_setters,
    writer::Settings,
};

impl<T: Record> Buckets<T> {
    /// Removes the records of a key that meet the filter. Returns how many records were removed, of how many
    /// buckets.
    ///
    /// The filter is that of [`matching`](crate::action::RecordsQuery::matching) of a read: what
    /// `records(key).matching(filter)` gives is removed. Every record that meets it at the start of the call is
    /// removed, unless it is corrected meanwhile and does not meet it any more. One that is stored meanwhile may
    /// stay. Each bucket is edited by one statement, as by [`delete`](Self::delete): pages, tokens and
    /// aggregates stay right. A call that ends with [`RemovedInPart`](crate::ErrorKind::RemovedInPart) has removed the
    /// records of some buckets: call it again.
    ///
    /// Settings: `between`, `dry_run`, `forget_ids`, `session`, `write_concern`, `deadline`. The deadline is
    /// that of the whole call.
    ///
    /// # Errors
    ///
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a filter that is not one on records, or a time
    /// range that ends before it starts; [`Damaged`](crate::ErrorKind::Damaged) if a bucket with such records is
    /// damaged; [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown) if the records of a bucket may be removed
    /// and there was no reply before the deadline.
    ///
    /// ```no_run
    /// # use bucket_mongo::{AttributeFilter, Bucketed, Buckets, Result};
    /// async fn forget<T: Bucketed>(buckets: &Buckets<T>, key: T::Key, filter: AttributeFilter) -> Result<u64>
    /// where
    ///     T::Key: Clone,
    /// {
    ///     let would = buckets.delete_where(key.clone(), filter.clone()).dry_run().await?;
    ///     println!("{} records would go", would.records);
    ///     Ok(buckets.delete_where(key, filter).await?.records)
    /// }
    /// ```
    pub fn delete_where(
        &self,
        key: impl Into<T::Key>,
        filter: impl Into<AttributeFilter>,
    ) -> DeleteWhere<'_, T> {
        DeleteWhere {
            buckets: self,
            key: key.into(),
            filter: filter.into(),
            range: TimeRange::ALL,
            is_dry: false,
            forgets_ids: false,
            session: None,
            settings: Settings::default(),
        }
    }
}

/// A removal of the records of a key that meet a filter; see [`Buckets::delete_where`].
#[must_use = "nothing is removed until this is awaited"]
#[derive(Debug)]
pub struct DeleteWhere<'a, T: Record> {
    buckets: &'a Buckets<T>,
    key: T::Key,
    filter: AttributeFilter,
    range: TimeRange,
    is_dry: bool,
    forgets_ids: bool,
    session: Option<&'a mut ClientSession>,
    settings: Settings,
}

impl<'a, T: Record> DeleteWhere<'a, T> {
    /// Removes only records in this time range: `from..to`, `from..`, `..to`.
    pub fn between(mut self, range: impl IntoTimeRange) -> Self {
        self.range = range.into_time_range();
        self
    }

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
        let context = Context::of::<T>("delete_where", &self.key);
        let editing = Editing::new(self.buckets, self.session, &self.settings, context)?;
        let removal = Removal {
            operation: "delete_where",
            key: self.key,
            range: self.range,
            filter: Some(self.filter),
            is_dry: self.is_dry,
            forgets_ids: self.forgets_ids,
        };
        removal.run(editing).await
    }
}

impl<'a, T: Record> IntoFuture for DeleteWhere<'a, T> {
    type Output = Result<Removed>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let collection = T::SPEC.collection();
        let span = tracing::debug_span!(target: trace::WRITE, "delete_where", collection);
        Box::pin(self.run().instrument(span))
    }
}
