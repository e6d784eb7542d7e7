//! The collection of a model as a handle and its clones see it, without the record type.

use std::{sync::Arc, time::Duration};

use bucket_core::BucketSpec;
use mongodb::{Collection, Database, bson::Document, options::WriteConcern};

use crate::{
    collection::{collection, collection_on_primary},
    group::waiting::Groups,
    read::Archived,
    write_concern::durable,
    writer::{cache::SharedCache, deadline::DEADLINE},
};

/// The collection that records go into, the settings, and what is known about it.
///
/// Code that reads and writes encoded records takes this instead of [`Buckets`](crate::Buckets), so that it
/// is compiled once for all models.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    spec: &'static BucketSpec,
    database: Database,
    write_concern: WriteConcern,
    deadline: Duration,
    cache: Arc<SharedCache>,
    /// Shared by handles that write with the same settings.
    groups: Arc<Groups>,
    archived: Option<Arc<Archived>>,
}

impl Store {
    pub(crate) fn new(spec: &'static BucketSpec, database: &Database) -> Self {
        Self {
            spec,
            database: database.clone(),
            write_concern: durable(),
            deadline: DEADLINE,
            cache: Arc::default(),
            groups: Arc::default(),
            archived: None,
        }
    }

    /// From here on it shares no statements with other clones, because its settings differ.
    pub(crate) fn leave_group(&mut self) {
        self.groups = Arc::default();
    }

    pub(crate) fn set_write_concern(&mut self, write_concern: WriteConcern) {
        self.write_concern = write_concern;
        self.leave_group();
    }

    pub(crate) fn set_deadline(&mut self, deadline: Duration) {
        self.deadline = deadline;
        self.leave_group();
    }

    #[cfg(feature = "seal")]
    pub(crate) fn set_archive(&mut self, copies: crate::read::Place) {
        self.archived = Some(Arc::new(Archived {
            spec: self.spec,
            copies,
            buckets: self.collection(),
        }));
    }

    /// Where the items of archived buckets are, if the handle knows it.
    pub(crate) fn archived(&self) -> Option<&Arc<Archived>> {
        self.archived.as_ref()
    }

    pub(crate) fn spec(&self) -> &'static BucketSpec {
        self.spec
    }

    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    /// The names of the database and of the collection.
    #[cfg(feature = "seal")]
    pub(crate) fn namespace(&self) -> String {
        format!("{}.{}", self.database.name(), self.spec.collection())
    }

    /// The collection, for the library's own reads and writes.
    pub(crate) fn collection<D: Send + Sync>(&self) -> Collection<D> {
        collection(&self.database, self.spec.collection())
    }

    /// The collection as the primary has it now, whatever the client's settings say of reads: what a set-up decides
    /// by what another member shows may remove what that member does not have yet.
    pub(crate) fn primary(&self) -> Collection<Document> {
        collection_on_primary(&self.database, self.spec.collection())
    }

    pub(crate) fn cache(&self) -> &Arc<SharedCache> {
        &self.cache
    }

    pub(crate) fn groups(&self) -> &Groups {
        &self.groups
    }

    pub(crate) fn deadline(&self) -> Duration {
        self.deadline
    }

    pub(crate) fn write_concern(&self) -> &WriteConcern {
        &self.write_concern
    }
}
