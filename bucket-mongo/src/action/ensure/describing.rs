//! Compares the description of the collection with the model, and stores what the model adds to it.

use std::time::Duration;

use bucket_core::{
    index::Drift,
    schema::{CollectionDescription, MODELS},
    write::{
        codes::{DUPLICATE_KEY, TIME_LIMIT},
        collection_uuid,
    },
};
use mongodb::bson::{DateTime, Document, Uuid, doc};

use super::{
    ensure_report::{Described, EnsureReport},
    set_up::SetUp,
};
use crate::{
    Error, ErrorKind, Result,
    error::Context,
    models::{models, stored},
    write_concern::durable,
    writer::faults::code,
};

/// How often a call begins again because another one changed the description.
const ATTEMPTS: u32 = 8;

/// A bound, because a service waits for `ensure` at its start and the server may look at every bucket.
const MOST_TIME_TO_LOOK: Duration = Duration::from_secs(10);

impl SetUp<'_> {
    /// Describes the collection that `listCollections` returned. A user without the rights gets a collection that is
    /// set up all the same.
    pub(super) async fn describe(
        &self,
        found: &Document,
        report: &mut EnsureReport,
        context: &Context,
    ) -> Result<()> {
        let uuid = collection_uuid(found);
        // What is wrong with that collection is not wrong with the model's own.
        let of_models = &Context {
            collection: MODELS,
            key: Some(context.collection.to_owned()),
            ..context.clone()
        };
        for _ in 0..ATTEMPTS {
            match self
                .try_to_describe(uuid, report, (context, of_models))
                .await
            {
                Ok(true) => break,
                // If others keep changing it, they say themselves how it differs from their models.
                Ok(false) => {}
                Err(error) if error.is_unauthorized() => {
                    report.description = Described::NotPermitted;
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// `false` if another call changed it in the meantime.
    async fn try_to_describe(
        &self,
        uuid: Option<Uuid>,
        report: &mut EnsureReport,
        (context, of_models): (&Context, &Context),
    ) -> Result<bool> {
        let spec = self.store.spec();
        let found = stored(self.store.database(), spec.collection()).await;
        let found = found.map_err(|error| Error::read(error, of_models))?;
        let new = || CollectionDescription::of(spec, uuid, DateTime::now());
        let Some(found) = found else {
            return self.write_first(&new(), report, of_models).await;
        };
        match CollectionDescription::parse(found) {
            Ok(described) if described.is_of(uuid) => {
                self.extend(&described, &new(), report, (context, of_models))
                    .await
            }
            Err(message) if !self.replace_description => {
                report.drift.push(Drift::__unreadable(message));
                report.description = Described::Differs;
                Ok(true)
            }
            // That of a collection which had the name before.
            _ => self.replaces(None, &new(), report, of_models).await,
        }
    }

    /// Stores what the model adds, or reports how it differs.
    async fn extend(
        &self,
        described: &CollectionDescription,
        new: &CollectionDescription,
        report: &mut EnsureReport,
        (context, of_models): (&Context, &Context),
    ) -> Result<bool> {
        let spec = self.store.spec();
        let drift = described.drift(spec);
        let is_new = !drift.is_empty() || described.has_new_fields(spec);
        let has_buckets = is_new && self.has_buckets(context).await?;
        if !drift.is_empty() && has_buckets && !self.replace_description {
            report.description = Described::Differs;
            report.drift.extend(drift);
            return Ok(true);
        }
        let mut next = described.extended(spec, has_buckets, new.described_at);
        if !drift.is_empty() {
            let revision = next.revision.saturating_add(1);
            next = new.clone();
            next.revision = revision;
        }
        let mut partial = Vec::new();
        for aggregate in next.partial(spec) {
            let filter = aggregate.filter.as_ref();
            let is_lacking = self.any_lacks(filter, context).await?;
            if is_lacking {
                partial.push(aggregate.drift());
            }
            // What no filter can tell is said once.
            if !is_lacking || filter.is_none() {
                next.complete(&aggregate);
            }
        }
        let revision = Some(described.revision);
        if next == *described {
            report.description = Described::Found;
        } else if !self.replaces(revision, &next, report, of_models).await? {
            return Ok(false);
        }
        report.drift.extend(partial);
        Ok(true)
    }

    async fn write_first(
        &self,
        new: &CollectionDescription,
        report: &mut EnsureReport,
        context: &Context,
    ) -> Result<bool> {
        let models = models(self.store.database());
        let inserted = models.insert_one(document(new, context)?);
        let inserted = inserted.write_concern(durable()).await;
        match inserted.map_err(|error| Error::read(error, context)) {
            Ok(_) => {
                report.description = Described::Written;
                Ok(true)
            }
            Err(error) if error.code() == Some(DUPLICATE_KEY) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Replaces the description that has this revision, or whatever is there; `false` if it is not there any more.
    async fn replaces(
        &self,
        revision: Option<i64>,
        next: &CollectionDescription,
        report: &mut EnsureReport,
        context: &Context,
    ) -> Result<bool> {
        let mut filter = doc! { "_id": &next.collection };
        if let Some(revision) = revision {
            filter.insert("revision", revision);
        }
        let models = models(self.store.database());
        let replaced = models.replace_one(filter, document(next, context)?);
        let replaced = replaced.write_concern(durable()).await;
        let replaced = replaced.map_err(|error| Error::read(error, context))?;
        report.description = Described::Written;
        Ok(replaced.matched_count > 0)
    }

    async fn has_buckets(&self, context: &Context) -> Result<bool> {
        let buckets = self.store.primary();
        let first = buckets.find_one(doc! {}).projection(doc! { "_id": 1 });
        let first = first.await.map_err(|error| Error::read(error, context))?;
        Ok(first.is_some())
    }

    /// Whether some bucket lacks an aggregate; also if no filter shows it, or not in time.
    async fn any_lacks(&self, filter: Option<&Document>, context: &Context) -> Result<bool> {
        let Some(filter) = filter else {
            return Ok(true);
        };
        let buckets = self.store.primary();
        let first = buckets.find_one(filter.clone());
        let first = first.projection(doc! { "_id": 1 });
        match first.max_time(MOST_TIME_TO_LOOK).await {
            Ok(first) => Ok(first.is_some()),
            Err(error) if code(&error) == Some(TIME_LIMIT) => Ok(true),
            Err(error) => Err(Error::read(error, context)),
        }
    }
}

fn document(described: &CollectionDescription, context: &Context) -> Result<Document> {
    let failed = |message| Error::new(ErrorKind::InvalidArgument { message }, context);
    described.to_document().map_err(failed)
}
