//! Creates and changes the indexes of a collection to match the model.

use std::time::Duration;

use bucket_core::{
    index::{self, Drift, IndexPlan, Removal, RemovalPlan},
    write::codes::{DUPLICATE_KEY, INDEX_CONFLICTS, INDEX_NOT_FOUND, TIME_LIMIT},
};
use futures_util::TryStreamExt;
use mongodb::bson::{DateTime, Document, doc};

use super::{ensure_report::EnsureReport, set_up::SetUp};
use crate::{
    Error, ErrorKind, Result, collection::list_indexes, error::Context, writer::faults::code,
};

/// A bound, because a service waits for `ensure` at its start and the server looks at every bucket.
const MOST_TIME_TO_COUNT: Duration = Duration::from_secs(10);

impl SetUp<'_> {
    pub(super) async fn indexes(
        &self,
        is_new: bool,
        report: &mut EnsureReport,
        context: &Context,
    ) -> Result<()> {
        let collection = self.store.collection::<Document>();
        let found = list_indexes(self.store.database(), collection.name()).await;
        let mut found = found.map_err(|error| Error::read(error, context))?;
        let (mut missing, mut drift) = index::compare(self.store.spec(), &found);
        if self.replace {
            let same_name = |drift: &Drift| match drift {
                Drift::Index { name, .. } => Some(name.clone()),
                _ => None,
            };
            let replaced: Vec<String> = drift.iter().filter_map(same_name).collect();
            self.drop_indexes(&replaced, report, context).await?;
            missing.extend(
                index::plan(self.store.spec())
                    .into_iter()
                    .filter(|plan| replaced.contains(&plan.name)),
            );
            drift.retain(|drift| same_name(drift).is_none());
            found.retain(|index| {
                let name = index.get_str("name").unwrap_or_default();
                !replaced.iter().any(|replaced| replaced == name)
            });
        } else {
            index::take_rivals(&mut missing, &drift);
        }
        if !self.change_expiry && self.has_data(is_new, context).await? {
            drift.extend(index::take_removing(&mut missing, &found));
            self.count_removals(&mut drift, context).await?;
        }
        if self.change_expiry {
            self.change_limits(&mut drift, report, context).await?;
        }
        let changed = report.changed_indexes.clone();
        let differs = |name: &str| {
            let is_named = |drift: &Drift| match drift {
                Drift::Index { name: n, .. } | Drift::Expiry { name: n, .. } => n == name,
                _ => false,
            };
            drift.iter().any(is_named) || changed.iter().any(|changed| changed == name)
        };
        for plan in index::plan(self.store.spec()) {
            let is_own = report.created_indexes.contains(&plan.name);
            if !is_own && !missing.contains(&plan) && !differs(&plan.name) {
                report.found_indexes.push(plan.name);
            }
        }
        for plan in &missing {
            let command = doc! {
                "createIndexes": collection.name(),
                "indexes": [plan.definition()],
            };
            let created = self.store.database().run_command(command).await;
            created.map_err(|error| not_built(plan, error, context))?;
            if !report.created_indexes.contains(&plan.name) {
                report.created_indexes.push(plan.name.clone());
            }
        }
        if self.replace {
            let other = |drift: &Drift| match drift {
                Drift::Capacity { name, .. } => Some(name.clone()),
                _ => None,
            };
            let others: Vec<String> = drift.iter().filter_map(other).collect();
            // Only now: until the new index exists, the old one prevents a second open bucket of a key.
            self.drop_indexes(&others, report, context).await?;
            drift.retain(|drift| other(drift).is_none());
        }
        report.drift.extend(drift);
        Ok(())
    }

    /// Whether the collection has data that the server could remove.
    async fn has_data(&self, is_new: bool, context: &Context) -> Result<bool> {
        if is_new || self.store.spec().expire_index_name().is_none() {
            return Ok(false);
        }
        let collection = self.store.collection::<Document>();
        let first = collection.find_one(doc! {}).projection(doc! { "_id": 1 });
        let first = first.await.map_err(|error| Error::read(error, context))?;
        Ok(first.is_some())
    }

    /// Counts what the server would remove under the model's limits, where it follows longer ones or none.
    async fn count_removals(&self, drift: &mut [Drift], context: &Context) -> Result<()> {
        for drift in drift {
            let Drift::Expiry {
                name,
                expected: Some(expected),
                found,
                removes,
            } = drift
            else {
                continue;
            };
            if found.is_some_and(|found| found < *expected) {
                continue;
            }
            let Some(plan) = index::removal(self.store.spec(), name, DateTime::now()) else {
                continue;
            };
            *removes = match self.counted(&plan).await {
                Err(error) if code(&error) == Some(TIME_LIMIT) => None,
                counted => Some(counted.map_err(|error| Error::read(error, context))?),
            };
        }
        Ok(())
    }

    async fn counted(&self, plan: &RemovalPlan) -> mongodb::error::Result<Removal> {
        let collection = self.store.collection::<Document>();
        let mut found = collection
            .aggregate(plan.pipeline.clone())
            .max_time(MOST_TIME_TO_COUNT)
            .await?;
        Ok(plan.counted(found.try_next().await?.as_ref()))
    }

    /// Sets the limits of the expiry indexes to the model's.
    async fn change_limits(
        &self,
        drift: &mut Vec<Drift>,
        report: &mut EnsureReport,
        context: &Context,
    ) -> Result<()> {
        for drift in drift.iter() {
            let Drift::Expiry { name, expected, .. } = drift else {
                continue;
            };
            let Some(seconds) = expected else {
                let names = std::slice::from_ref(name);
                self.drop_indexes(names, report, context).await?;
                continue;
            };
            let command = doc! {
                "collMod": self.store.spec().collection(),
                "index": { "name": name, "expireAfterSeconds": i64::from(*seconds) },
            };
            let changed = self.store.database().run_command(command).await;
            changed.map_err(|error| Error::read(error, context))?;
            if !report.changed_indexes.contains(name) {
                report.changed_indexes.push(name.clone());
            }
        }
        drift.retain(|drift| !matches!(drift, Drift::Expiry { .. }));
        Ok(())
    }

    /// Drops those of these indexes that still differ from the model: since they were listed, another client may
    /// have made them as its own model needs them.
    async fn drop_indexes(
        &self,
        names: &[String],
        report: &mut EnsureReport,
        context: &Context,
    ) -> Result<()> {
        let collection = self.store.spec().collection();
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
                Ok(_) => report.dropped_indexes.push(name.clone()),
                // Another client dropped it first.
                Err(error) if code(&error) == Some(INDEX_NOT_FOUND) => {}
                Err(error) => return Err(Error::read(error, context)),
            }
        }
        Ok(())
    }
}

/// The name of the index that is dropped for this difference.
fn dropped(drift: &Drift) -> Option<&String> {
    match drift {
        Drift::Index { name, .. }
        | Drift::Capacity { name, .. }
        | Drift::Expiry {
            name,
            expected: None,
            ..
        } => Some(name),
        _ => None,
    }
}

fn not_built(plan: &IndexPlan, error: mongodb::error::Error, context: &Context) -> Error {
    let kind = match (code(&error), error.kind.as_ref()) {
        (Some(code), mongodb::error::ErrorKind::Command(refused))
            if code == DUPLICATE_KEY || INDEX_CONFLICTS.contains(&code) =>
        {
            ErrorKind::IndexBuild {
                name: plan.name.clone(),
                message: refused.message.clone(),
            }
        }
        _ => return Error::read(error, context),
    };
    Error::with_driver(kind, context, Some(error))
}
