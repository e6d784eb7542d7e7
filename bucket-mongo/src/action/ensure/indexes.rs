//! Creates and changes the indexes of a collection to match the model.

use std::time::Duration;

use bucket_core::{
    Form,
    index::{self, Drift, ExpiryReplacement, IndexPlan, Removal, RemovalPlan, Rivalry},
    write::codes::{DUPLICATE_KEY, INDEX_CONFLICTS, INDEX_NOT_FOUND, TIME_LIMIT},
};
use futures_util::TryStreamExt;
use mongodb::bson::{DateTime, Document, doc};
use tokio::time::sleep;

use super::{
    ensure_report::EnsureReport,
    set_up::{Attempt, SetUp},
};
use crate::{
    Error, ErrorKind, Result, collection::list_indexes, error::Context, writer::faults::code,
};

/// A bound, because a service waits for `ensure` at its start and the server looks at every bucket.
const MOST_TIME_TO_COUNT: Duration = Duration::from_secs(10);

/// How often a call looks whether an index that another call just made goes away. That call has only to list the
/// indexes and to drop its own.
const LOOKS_AT_A_RIVAL: u32 = 20;
/// The same for an index that a call seems to have left: it must not give up before one that waits for a rival.
const LOOKS_AT_A_LEFT_OVER: u32 = 2 * LOOKS_AT_A_RIVAL;
/// The pause between two looks.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

impl SetUp<'_> {
    pub(super) async fn indexes(
        &self,
        is_new: bool,
        report: &mut EnsureReport,
        context: &Context,
    ) -> Result<Attempt> {
        let collection = self.store.primary();
        let found = list_indexes(self.store.database(), collection.name()).await;
        let mut found = found.map_err(|error| Error::read(error, context))?;
        if let Some(drift) = index::other_kind(&found) {
            report.drift.push(drift);
            return Ok(Attempt::Done);
        }
        let before = found.clone();
        let (mut missing, mut drift) = index::compare(self.store.spec(), &found);
        if !is_new && !drift.iter().any(Drift::shows_other_model) {
            drift.extend(self.other_buckets(&missing, context).await?);
        }
        if drift.iter().any(Drift::shows_other_model) {
            return self.in_other_collection(drift, report, context).await;
        }
        if !self.replace && self.gives_up_left_over(&found, report, context).await? {
            return Ok(Attempt::Again);
        }
        let all_missing = missing.clone();
        let first = self.store.spec().first_index_name();
        // Others see it before anything else of the model refuses their buckets.
        missing.sort_by_key(|plan| Some(&plan.name) != first.as_ref());
        let mut replaced = Vec::new();
        if self.replace {
            replaced = self.take_replaced(&mut missing, &mut drift, &mut found);
        } else {
            index::take_rivals(&mut missing, &drift);
        }
        if !self.change_expiry && self.has_data(is_new, context).await? {
            drift.extend(index::take_removing(&mut missing, &found));
            self.count_removals(&mut drift, context).await?;
        }
        if self.change_expiry {
            // Before the index, which says that all are dated: what ends here is still drift.
            let dated = self.date_buckets().await;
            let dated = dated.map_err(|error| Error::read(error, context))?;
            report.dated_buckets = report.dated_buckets.saturating_add(dated);
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
            let is_missing = missing.contains(&plan) || all_missing.contains(&plan);
            if !is_own && !is_missing && !differs(&plan.name) {
                report.found_indexes.push(plan.name);
            }
        }
        // What is replaced in vain ends the call, so the indexes by which the server removes come last.
        missing.sort_by_key(|plan| replaced.contains(&plan.name) && plan.expire_after.is_some());
        let without_successor = |name: &&String| !missing.iter().any(|plan| plan.name == **name);
        let gone: Vec<String> = replaced.iter().filter(without_successor).cloned().collect();
        if self.replace {
            self.check_replacement(&before, &drift, context).await?;
        }
        self.drop_indexes(&gone, report, context).await?;
        for plan in &missing {
            let is_replaced = replaced.contains(&plan.name);
            if is_replaced && self.unhide(plan, &before, report, context).await? {
                continue;
            }
            let created = self.create(plan, is_replaced, report, context).await?;
            if !report.created_indexes.contains(&plan.name) {
                report.created_indexes.push(plan.name.clone());
            }
            let shows_model = first.as_ref() == Some(&plan.name);
            // One that replaces another of the same limit removes what was to be removed.
            let is_first = plan.expire_after.is_some() && !replaced.contains(&plan.name);
            if is_first && has_created(&created) {
                drift.extend(self.expiry_in_vain(plan, report, context).await?);
            }
            if shows_model && self.has_lost(&before, &created, context).await? {
                report.created_indexes.retain(|name| *name != plan.name);
                return Ok(Attempt::Again);
            }
        }
        let plans = index::plan(self.store.spec());
        let place = |name: &String| plans.iter().position(|plan| plan.name == *name);
        report.created_indexes.sort_by_key(place);
        if self.replace {
            let other = |drift: &Drift| match drift {
                Drift::Capacity { name, .. } => Some(name.clone()),
                _ => None,
            };
            let others: Vec<String> = drift.iter().filter_map(other).collect();
            // Only now: until the new index exists, the old one prevents a second open bucket of a key.
            let dropped = self.drop_indexes(&others, report, context).await?;
            drift.retain(|drift| other(drift).is_none());
            if !dropped.is_empty() && self.lacks_first(context).await? {
                // Another call took it for left over, because this one was slow.
                report
                    .created_indexes
                    .retain(|name| Some(name) != first.as_ref());
                return Ok(Attempt::Again);
            }
        }
        report.drift.extend(drift);
        Ok(Attempt::Done)
    }

    /// Whether the index that shows the model is not there.
    async fn lacks_first(&self, context: &Context) -> Result<bool> {
        let spec = self.store.spec();
        let found = list_indexes(self.store.database(), spec.collection()).await;
        let found = found.map_err(|error| Error::read(error, context))?;
        let (missing, _) = index::compare(spec, &found);
        let first = spec.first_index_name();
        Ok(missing
            .iter()
            .any(|plan| Some(&plan.name) == first.as_ref()))
    }

    /// Creates an index, and returns the server's reply. One that it replaces is put back if the server refuses it.
    async fn create(
        &self,
        plan: &IndexPlan,
        is_replaced: bool,
        report: &mut EnsureReport,
        context: &Context,
    ) -> Result<Document> {
        let mut dropped = Vec::new();
        if is_replaced {
            self.check_may_create(&plan.name, context).await?;
            let name = std::slice::from_ref(&plan.name);
            dropped = self.drop_indexes(name, report, context).await?;
        }
        let command = doc! {
            "createIndexes": self.store.spec().collection(),
            "indexes": [plan.definition()],
        };
        let created = self.store.database().run_command(command).await;
        if created.is_err() {
            // It may be what refuses a record that is delivered again.
            let put_back = self.put_back(dropped, report, context).await;
            if let Err(error) = put_back {
                let message = format!(
                    "it was dropped, and could neither be made anew nor be put back ({error}): call `ensure()` again \
                     before anything is written"
                );
                let name = plan.name.clone();
                return Err(Error::new(ErrorKind::IndexBuild { name, message }, context));
            }
        }
        created.map_err(|error| not_built(plan, error, context))
    }

    /// Takes the indexes with another definition out of the drift and out of those that were found, and adds the
    /// model's to the missing ones. Returns their names. An index by which the server removes is replaced by one
    /// that removes by the same limit, or not at all.
    fn take_replaced(
        &self,
        missing: &mut Vec<IndexPlan>,
        drift: &mut Vec<Drift>,
        found: &mut Vec<Document>,
    ) -> Vec<String> {
        let spec = self.store.spec();
        let name = |index: &Document| index.get_str("name").unwrap_or_default().to_owned();
        let is_kept = |drift: &str| {
            let mut found = found.iter().filter(|index| name(index) == drift);
            let kept = Some(ExpiryReplacement::Kept);
            !self.change_expiry && found.any(|index| index::expiry_replacement(spec, index) == kept)
        };
        let taken = |drift: &Drift| match drift {
            Drift::Index { name, .. } if !is_kept(name) => Some(name.clone()),
            _ => None,
        };
        let replaced: Vec<String> = drift.iter().filter_map(taken).collect();
        drift.retain(|drift| taken(drift).is_none());
        let own = index::plan(spec).into_iter();
        missing.extend(own.filter(|plan| replaced.contains(&plan.name)));
        found.retain(|index| {
            let follows = Some(ExpiryReplacement::Replaced);
            index::expiry_replacement(spec, index) == follows || !replaced.contains(&name(index))
        });
        replaced
    }

    /// The drift of a collection whose buckets are another model's, where no mark says that it holds the model's. Numbered
    /// models with and without object ids have the same mark.
    async fn other_buckets(
        &self,
        missing: &[IndexPlan],
        context: &Context,
    ) -> Result<Option<Drift>> {
        let spec = self.store.spec();
        let mark = spec.mark_name();
        let is_missing = |plan: &IndexPlan| Some(&plan.name) == mark.as_ref();
        if !matches!(spec.form(), Form::Numbered { .. }) && !missing.iter().any(is_missing) {
            return Ok(None);
        }
        let (projection, buckets) = index::sample(spec);
        let driver = |error| Error::read(error, context);
        let collection = self.store.primary();
        let sample = collection.find(doc! {}).projection(projection);
        let sample = sample.limit(buckets.into()).await.map_err(driver)?;
        let sample: Vec<Document> = sample.try_collect().await.map_err(driver)?;
        Ok(index::other_buckets(spec, &sample))
    }

    /// Creates and changes nothing in the collection of another model. A call that replaces indexes drops those of
    /// the other model once it has no buckets.
    async fn in_other_collection(
        &self,
        drift: Vec<Drift>,
        report: &mut EnsureReport,
        context: &Context,
    ) -> Result<Attempt> {
        let driver = |error| Error::read(error, context);
        let other = |drift: &Drift| match drift {
            Drift::OtherModel { index, .. } => index.clone(),
            _ => None,
        };
        let others: Vec<String> = drift.iter().filter_map(other).collect();
        if self.replace && !others.is_empty() {
            let collection = self.store.primary();
            let first = collection.find_one(doc! {}).projection(doc! { "_id": 1 });
            if first.await.map_err(driver)?.is_none() {
                let found = list_indexes(self.store.database(), collection.name()).await;
                let mut dropped = found.map_err(driver)?;
                dropped.retain(|index| {
                    index
                        .get_str("name")
                        .is_ok_and(|name| others.iter().any(|it| it == name))
                });
                self.drop_indexes(&others, report, context).await?;
                if self.has_any(context).await? {
                    self.put_back(dropped, report, context).await?;
                }
                return Ok(Attempt::Again);
            }
        }
        report.drift.extend(drift);
        Ok(Attempt::Done)
    }

    /// Whether this call has to look again at the indexes, because the model's index on open buckets is beside that
    /// of a smaller capacity. It is dropped if that does not go away: a call left it that ended before it gave way.
    async fn gives_up_left_over(
        &self,
        found: &[Document],
        report: &mut EnsureReport,
        context: &Context,
    ) -> Result<bool> {
        let spec = self.store.spec();
        let driver = |error| Error::read(error, context);
        let Some(name) = spec
            .first_index_name()
            .filter(|_| index::is_left_over(spec, found))
        else {
            return Ok(false);
        };
        // Another call may be about to replace the smaller capacity, or to give way.
        for _ in 0..LOOKS_AT_A_LEFT_OVER {
            sleep(BETWEEN_LOOKS).await;
            let now = list_indexes(self.store.database(), spec.collection()).await;
            if !index::is_left_over(spec, &now.map_err(driver)?) {
                return Ok(true);
            }
        }
        let command = doc! { "dropIndexes": spec.collection(), "index": &name };
        match self.store.database().run_command(command).await {
            Ok(_) => report.dropped_indexes.push(name),
            Err(error) if code(&error) == Some(INDEX_NOT_FOUND) => {}
            Err(error) => return Err(driver(error)),
        }
        Ok(true)
    }

    /// Whether the call of another capacity, form or key, at the same moment, keeps its index. This call's own is then
    /// dropped, if this call made it.
    async fn has_lost(
        &self,
        before: &[Document],
        created: &Document,
        context: &Context,
    ) -> Result<bool> {
        let spec = self.store.spec();
        let driver = |error| Error::read(error, context);
        for look in 0.. {
            let after = list_indexes(self.store.database(), spec.collection()).await;
            match index::rivalry(spec, before, &after.map_err(driver)?) {
                Rivalry::None => return Ok(false),
                Rivalry::Lost => return Ok(true),
                Rivalry::Waits if look < LOOKS_AT_A_RIVAL => sleep(BETWEEN_LOOKS).await,
                // The other call was done before this one's index was there. Two that both give way begin again
                // after random pauses.
                _ => break,
            }
        }
        let Some(name) = spec.first_index_name().filter(|_| has_created(created)) else {
            return Ok(true);
        };
        let command = doc! { "dropIndexes": spec.collection(), "index": name };
        match self.store.database().run_command(command).await {
            Err(error) if code(&error) != Some(INDEX_NOT_FOUND) => Err(driver(error)),
            _ => Ok(true),
        }
    }

    /// Drops the expiry index that this call has just created, if others have stored meanwhile what the server would
    /// remove by it and the caller has not agreed to that.
    async fn expiry_in_vain(
        &self,
        plan: &IndexPlan,
        report: &mut EnsureReport,
        context: &Context,
    ) -> Result<Option<Drift>> {
        let spec = self.store.spec();
        if self.change_expiry {
            return Ok(None);
        }
        let Some(removal) = index::removal(spec, &plan.name, DateTime::now()) else {
            return Ok(None);
        };
        let counted = self.counted(&removal).await;
        if counted
            .map_err(|error| Error::read(error, context))?
            .buckets
            == 0
        {
            return Ok(None);
        }
        let command = doc! { "dropIndexes": spec.collection(), "index": &plan.name };
        match self.store.database().run_command(command).await {
            Err(error) if code(&error) != Some(INDEX_NOT_FOUND) => {
                return Err(Error::read(error, context));
            }
            _ => report.created_indexes.retain(|name| *name != plan.name),
        }
        let mut drift = index::take_removing(&mut vec![plan.clone()], &[]);
        self.count_removals(&mut drift, context).await?;
        Ok(drift.pop())
    }

    /// Whether the collection has data that the server could remove.
    async fn has_data(&self, is_new: bool, context: &Context) -> Result<bool> {
        if is_new || self.store.spec().expire_index_name().is_none() {
            return Ok(false);
        }
        self.has_any(context).await
    }

    /// Whether the collection has a document.
    async fn has_any(&self, context: &Context) -> Result<bool> {
        let collection = self.store.primary();
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
                ..
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
        let collection = self.store.primary();
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
}

/// Whether the command made an index, by its reply: it also succeeds if another call has made the same one.
fn has_created(reply: &Document) -> bool {
    let number = |name: &str| reply.get_i32(name).ok();
    let numbers = number("numIndexesBefore").zip(number("numIndexesAfter"));
    // A router replies for each shard. The index was not there before this call.
    numbers.is_none_or(|(before, after)| before < after)
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
