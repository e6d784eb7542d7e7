//! The removal of many records of a key, bucket by bucket.

use std::collections::HashSet;

use bucket_core::{AttributeFilter, Record, TimeRange, Which, edit::Edit, read::WalkOrder};
use futures_util::TryStreamExt;
use mongodb::{
    bson::doc,
    options::{ReadConcern, ReadPreference, SelectionCriteria},
};

use super::{Removed, editing::Editing};
use crate::{Error, Result, action::RecordStream, read::Request, trace};

/// Which records of a key are removed.
pub(super) struct Removal<T: Record> {
    pub(super) operation: &'static str,
    pub(super) key: T::Key,
    pub(super) range: TimeRange,
    pub(super) filter: Option<AttributeFilter>,
    pub(super) is_dry: bool,
    pub(super) forgets_ids: bool,
}

impl<T: Record> Removal<T> {
    pub(super) async fn run(self, mut editing: Editing<'_, T>) -> Result<Removed> {
        let removed = self.remove(&mut editing).await;
        removed.map_err(|error| editing.in_part(error))
    }

    async fn remove(self, editing: &mut Editing<'_, T>) -> Result<Removed> {
        let filter = self.request(editing).record_filter()?;
        editing.check_collection().await?;
        let mut removed = Removed::default();
        let found = loop {
            match self.found(editing).await {
                Ok(found) => break found,
                Err(error) => editing.passes(error).await?,
            }
        };
        let mut done = HashSet::new();
        for (place, which) in found {
            // An edit takes all of a merged bucket.
            if place.is_some_and(|place| done.contains(&place)) {
                continue;
            }
            let mut edit = Edit::delete_some(self.key.clone(), &which, self.range, filter.clone());
            if self.forgets_ids {
                edit = edit.forget_ids();
            }
            let edited = editing.run(edit, self.is_dry).await?;
            removed.records += edited.records;
            removed.buckets += edited.buckets;
            done.extend(edited.places);
        }
        let operation = self.operation;
        let Removed {
            records, buckets, ..
        } = removed;
        tracing::debug!(target: trace::WRITE, records, buckets, "{operation}");
        Ok(removed)
    }

    /// One record of each bucket with such records, or of each bucket that a merged one was made of; and its place.
    async fn found(
        &self,
        editing: &mut Editing<'_, T>,
    ) -> Result<Vec<(Option<(u128, u128)>, Which)>> {
        let mut request = self.request(editing);
        let store = editing.buckets.store();
        let database = store.database();
        let is_certain = editing.is_certain().await?;
        let context = editing.context().clone();
        let mut options = editing.options().await?;
        let mut own;
        if is_certain {
            let failed = |fault| Error::read(fault, &context);
            // The primary may show removals that a failover takes back, so the walk sees what a majority has;
            // and for the records of weak writers not less than what the primary has now.
            // Buckets that are merged meanwhile would be missed without a snapshot, which shows the same.
            let merges = T::SPEC.merge().is_some()
                && store.has_moments(&options.terms).await.map_err(failed)?;
            options.terms.concern = Some(if merges {
                ReadConcern::snapshot()
            } else {
                ReadConcern::majority()
            });
            options.begin(&context).await?;
            if options.session.is_none() {
                let session = database.client().start_session();
                let begun = options.terms.within(session.into_future()).await;
                own = begun.map_err(failed)?;
                options.session = Some(&mut own);
            }
            if let Some(session) = options.session.as_deref_mut() {
                // The session remembers the time of the reply, and the walk waits for it.
                let ping = database.run_command(options.terms.command(doc! { "ping": 1 }));
                let primary = SelectionCriteria::ReadPreference(ReadPreference::Primary);
                let ping = ping.selection_criteria(primary).session(session);
                let ended = options.terms.within(ping.into_future()).await;
                ended.map_err(failed)?;
            }
        }
        request.options = options;
        let request = request.with_refs();
        let walk = request.walk()?;
        let mut records = RecordStream::new(request.chunks(walk, None), None);
        let (mut found, mut places) = (Vec::new(), HashSet::new());
        while let Some(read) = records.try_next().await? {
            // Records of several parts of a window alternate.
            let place = read.reference.bucket();
            if places.insert(place) {
                found.push((place, Which::from(read.reference)));
            }
        }
        Ok(found)
    }

    /// The read of such records.
    fn request<'r>(&self, editing: &Editing<'r, T>) -> Request<'r, T> {
        let keys = vec![self.key.clone()];
        let mut request = Request::new(editing.buckets, self.operation, keys, WalkOrder::Cursor);
        request.range = self.range;
        if let Some(filter) = &self.filter {
            request.add_filter(filter.clone());
        }
        request
    }
}
