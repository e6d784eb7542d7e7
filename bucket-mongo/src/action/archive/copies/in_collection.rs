//! Copies that are documents of a collection.

use std::{collections::HashMap, time::Duration};

use bucket_core::{Record, archive};
use mongodb::{
    Collection,
    bson::{Document, RawDocumentBuf, doc, oid::ObjectId},
    error::{Error as DriverError, ErrorKind as DriverKind},
    options::{
        CollectionOptions, InsertManyOptions, ReadConcern, ReadPreference, SelectionCriteria,
    },
};
use tokio::time::timeout;

use crate::{
    Error, Result,
    collection::simple_collation,
    error::{Context, ReadFault},
    write_concern::durable,
};

/// The most ids of a command: they take 2 MB.
const TOGETHER: usize = 100_000;

/// The code of a taken `_id`.
const TAKEN: i32 = 11_000;

/// Copies that are documents of a collection, as a majority of its members has them.
pub(in crate::action) struct InCollection {
    collection: Collection<RawDocumentBuf>,
    /// The names of the database and of the collection that these belong to.
    of: String,
    /// The longest time for a command.
    patience: Duration,
    context: Context,
}

impl InCollection {
    pub(super) fn new(
        archive: &Collection<RawDocumentBuf>,
        of: String,
        patience: Duration,
        context: Context,
    ) -> Self {
        let mut options = CollectionOptions::default();
        options.selection_criteria =
            Some(SelectionCriteria::ReadPreference(ReadPreference::Primary));
        options.read_concern = Some(ReadConcern::majority());
        options.write_concern = Some(durable());
        let database = archive.client().database(&archive.namespace().db);
        Self {
            collection: database.collection_with_options(archive.name(), options),
            of,
            patience,
            context,
        }
    }

    /// Inserts these. Their ids are new, so one that is taken was inserted by an earlier try of this call.
    pub(super) async fn insert(&self, copies: impl Iterator<Item = &RawDocumentBuf>) -> Result<()> {
        let mut options = InsertManyOptions::default();
        options.ordered = Some(false);
        let insert = self.collection.insert_many(copies).with_options(options);
        let inserted = timeout(self.patience, insert.into_future()).await;
        match inserted {
            Ok(Err(error)) if !is_only_taken(&error) => Err(Error::read(error, &self.context)),
            Ok(_) => Ok(()),
            Err(_) => Err(Error::read(ReadFault::Late, &self.context)),
        }
    }

    /// These copies, by their ids.
    pub(super) async fn of(
        &self,
        ids: impl Iterator<Item = ObjectId>,
    ) -> Result<HashMap<ObjectId, RawDocumentBuf>> {
        let ids: Vec<ObjectId> = ids.collect();
        let find = async {
            let find = self.collection.find(doc! { "_id": { "$in": ids } });
            let mut found = find.collation(simple_collation()).await?;
            let mut copies = HashMap::new();
            while found.advance().await? {
                let copy = found.current().to_owned();
                if let Ok(id) = copy.get_object_id("_id") {
                    copies.insert(id, copy);
                }
            }
            Ok::<_, DriverError>(copies)
        };
        match timeout(self.patience, find).await {
            Ok(found) => found.map_err(|error| Error::read(error, &self.context)),
            Err(_) => Err(Error::read(ReadFault::Late, &self.context)),
        }
    }

    /// Whether all of these are there, as copies of buckets of the collection.
    pub(super) async fn are_there(&self, ids: &[ObjectId]) -> Result<bool> {
        let mut found = 0;
        for ids in ids.chunks(TOGETHER) {
            found += self.count(archive::copies_of(ids, &self.of)).await?;
        }
        Ok(usize::try_from(found) == Ok(ids.len()))
    }

    /// Removes those of these that are copies of buckets of the collection. Returns their number.
    pub(super) async fn remove(&self, ids: &[ObjectId]) -> Result<u64> {
        let mut removed = 0;
        for ids in ids.chunks(TOGETHER) {
            removed += self.delete(archive::copies_of(ids, &self.of)).await?;
        }
        Ok(removed)
    }

    /// Removes the copies of a key's buckets in the collection.
    pub(super) async fn remove_key<T: Record>(&self, key: &T::Key) -> Result<u64> {
        self.delete(archive::copies_of_key::<T>(key, &self.of))
            .await
    }

    /// Their number.
    pub(super) async fn count_key<T: Record>(&self, key: &T::Key) -> Result<u64> {
        self.count(archive::copies_of_key::<T>(key, &self.of)).await
    }

    async fn count(&self, filter: RawDocumentBuf) -> Result<u64> {
        let count = self.collection.count_documents(self.filter(filter)?);
        let count = count.collation(simple_collation());
        match timeout(self.patience, count.into_future()).await {
            Ok(counted) => counted.map_err(|error| Error::read(error, &self.context)),
            Err(_) => Err(Error::read(ReadFault::Late, &self.context)),
        }
    }

    async fn delete(&self, filter: RawDocumentBuf) -> Result<u64> {
        let delete = self.collection.delete_many(self.filter(filter)?);
        let delete = delete.collation(simple_collation());
        match timeout(self.patience, delete.into_future()).await {
            Ok(Ok(deleted)) => Ok(deleted.deleted_count),
            Ok(Err(error)) => Err(Error::read(error, &self.context)),
            Err(_) => Err(Error::read(ReadFault::Late, &self.context)),
        }
    }

    fn filter(&self, filter: RawDocumentBuf) -> Result<Document> {
        let filter = Document::try_from(filter);
        filter.map_err(|error| Error::read(DriverError::from(error), &self.context))
    }
}

/// Whether only taken ids are wrong.
fn is_only_taken(error: &DriverError) -> bool {
    match &*error.kind {
        DriverKind::InsertMany(failed) => {
            let writes = failed.write_errors.iter().flatten();
            failed.write_concern_error.is_none() && writes.into_iter().all(|of| of.code == TAKEN)
        }
        _ => false,
    }
}
