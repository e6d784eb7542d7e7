//! Drops indexes that differ from the model, shows hidden ones, and puts back what was dropped in vain.

use std::pin::pin;

use bucket_core::{
    index::{self, Drift, IndexPlan},
    write::codes::INDEX_NOT_FOUND,
};
use futures_util::{StreamExt, TryStreamExt};
use mongodb::bson::{Document, doc};

use super::{ensure_report::EnsureReport, set_up::SetUp};
use crate::{
    Error, ErrorKind, Result, collection::list_indexes, error::Context, writer::faults::code,
};

/// How many looks for later buckets run at the same time.
const LOOKS: usize = 16;

impl SetUp<'_> {
    /// Creates the indexes again that this call has dropped, since the other model has stored something meanwhile.
    pub(super) async fn put_back(
        &self,
        dropped: Vec<Document>,
        report: &mut EnsureReport,
        context: &Context,
    ) -> Result<()> {
        let collection = self.store.spec().collection();
        for index in dropped {
            let name = index.get_str("name").unwrap_or_default().to_owned();
            let command = doc! { "createIndexes": collection, "indexes": [index] };
            let created = self.store.database().run_command(command).await;
            created.map_err(|error| Error::read(error, context))?;
            report.dropped_indexes.retain(|dropped| *dropped != name);
        }
        Ok(())
    }

    /// Shows an index again that differs from the model only because it is hidden; returns whether it does.
    pub(super) async fn unhide(
        &self,
        plan: &IndexPlan,
        found: &[Document],
        report: &mut EnsureReport,
        context: &Context,
    ) -> Result<bool> {
        let mut shown = found.to_vec();
        let hidden = shown.iter_mut().find(|index| is_of(index, &plan.name));
        let is_hidden = hidden.and_then(|index| index.remove("hidden"));
        let (_, drift) = index::compare(self.store.spec(), &shown);
        if is_hidden.is_none() || drift.iter().any(|drift| dropped(drift) == Some(&plan.name)) {
            return Ok(false);
        }
        let mut change = doc! { "name": &plan.name, "hidden": false };
        if let Some(seconds) = plan.expire_after.filter(|_| self.change_expiry) {
            change.insert("expireAfterSeconds", i64::from(seconds));
        }
        let command = doc! { "collMod": self.store.spec().collection(), "index": change };
        let changed = self.store.database().run_command(command).await;
        changed.map_err(|error| Error::read(error, context))?;
        if !report.changed_indexes.contains(&plan.name) {
            report.changed_indexes.push(plan.name.clone());
        }
        Ok(true)
    }

    /// Refuses to drop an index that is replaced if none can be created after it.
    pub(super) async fn check_may_create(&self, name: &str, context: &Context) -> Result<()> {
        let driver = |error| Error::read(error, context);
        let collection = self.store.spec().collection();
        let found = list_indexes(self.store.database(), collection).await;
        let found = found.map_err(driver)?;
        let Some(index) = found.into_iter().find(|index| is_of(index, name)) else {
            return Ok(());
        };
        // It needs the same right, and changes nothing, because the index is there.
        let command = doc! { "createIndexes": collection, "indexes": [index] };
        let same = self.store.database().run_command(command).await;
        same.map(drop).map_err(driver)
    }

    /// Refuses to replace an index on open buckets where that would do harm.
    pub(super) async fn check_replacement(
        &self,
        found: &[Document],
        drift: &[Drift],
        context: &Context,
    ) -> Result<()> {
        self.check_may_drop(drift, context).await?;
        self.check_stays_closed(found, context).await
    }

    /// Refuses to create an index for another capacity if the old one could not be dropped after it: with both, each
    /// model would refuse to write.
    async fn check_may_drop(&self, drift: &[Drift], context: &Context) -> Result<()> {
        let is_capacity = |drift: &Drift| matches!(drift, Drift::Capacity { .. });
        if !drift.iter().any(is_capacity) {
            return Ok(());
        }
        let collection = self.store.spec().collection();
        let command = doc! { "dropIndexes": collection, "index": "bucket_none" };
        match self.store.database().run_command(command).await {
            Err(error) if code(&error) != Some(INDEX_NOT_FOUND) => Err(Error::read(error, context)),
            _ => Ok(()),
        }
    }

    /// Refuses to replace the index on open buckets if the model's would have buckets that must stay closed.
    async fn check_stays_closed(&self, found: &[Document], context: &Context) -> Result<()> {
        let Some(plan) = index::reopened(self.store.spec(), found) else {
            return Ok(());
        };
        let collection = self.store.primary();
        let buckets = collection.find(plan.filter.clone());
        let buckets = buckets.projection(plan.projection.clone()).await;
        let failed = |error| Error::read(error, context);
        let looks = buckets.map_err(failed)?.map_ok(async |bucket: Document| {
            let has_later = async || {
                let later = collection.find_one(plan.later(&bucket));
                let later = later.projection(doc! { "_id": 1 }).await;
                later.map(|later| later.is_some())
            };
            let is_found = plan.is_sealed(&bucket) || has_later().await?;
            Ok::<_, mongodb::error::Error>(is_found.then_some(bucket))
        });
        let looks = looks.try_buffer_unordered(LOOKS);
        let found = pin!(looks.try_filter_map(async |found| Ok(found)));
        let Some(bucket) = found.into_future().await.0.transpose().map_err(failed)? else {
            return Ok(());
        };
        let id = bucket.get("_id").map(ToString::to_string);
        let message = format!(
            "the bucket {} takes no more records, but would count as open under the new limits: keep the old limit, or close \
             such buckets with `verify()` and `repair()` of this model; for a larger capacity, say `raised_from`",
            id.unwrap_or_default()
        );
        let name = plan.index.clone();
        Err(Error::new(ErrorKind::IndexBuild { name, message }, context))
    }

    /// Drops those of these indexes that still differ from the model: since they were listed, another client may
    /// have made them as its own model needs them. Returns the definitions of those that it has dropped.
    pub(super) async fn drop_indexes(
        &self,
        names: &[String],
        report: &mut EnsureReport,
        context: &Context,
    ) -> Result<Vec<Document>> {
        let collection = self.store.spec().collection();
        let mut gone = Vec::new();
        for name in names {
            let found = list_indexes(self.store.database(), collection).await;
            let found = found.map_err(|error| Error::read(error, context))?;
            let (_, drift) = index::compare(self.store.spec(), &found);
            if !drift.iter().any(|drift| dropped(drift) == Some(name)) {
                continue;
            }
            let command = doc! { "dropIndexes": collection, "index": name };
            let dropped = self.store.database().run_command(command).await;
            match dropped {
                Ok(_) => {
                    report.dropped_indexes.push(name.clone());
                    gone.extend(found.into_iter().find(|index| is_of(index, name)));
                }
                // Another client dropped it first.
                Err(error) if code(&error) == Some(INDEX_NOT_FOUND) => {}
                Err(error) => return Err(Error::read(error, context)),
            }
        }
        Ok(gone)
    }
}

/// The name of the index that is dropped for this difference.
fn dropped(drift: &Drift) -> Option<&String> {
    match drift {
        Drift::Index { name, .. }
        | Drift::Capacity { name, .. }
        | Drift::OtherModel {
            index: Some(name), ..
        }
        | Drift::Expiry {
            name,
            expected: None,
            ..
        } => Some(name),
        _ => None,
    }
}

/// Whether it is the listing of the index of this name.
fn is_of(index: &Document, name: &str) -> bool {
    index.get_str("name").is_ok_and(|own| own == name)
}
