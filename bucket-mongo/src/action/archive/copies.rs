//! The documents of an archive.

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
    error::{Context, ReadFault},
    write_concern::durable,
};

/// The code of a taken `_id`.
const TAKEN: i32 = 11_000;

/// The copies of buckets, as a majority of the archive's members has them.
pub(in crate::action) struct Copies {
    collection: Collection<RawDocumentBuf>,
    /// The longest time for a command.
    patience: Duration,
    context: Context,
}

impl Copies {
    pub(in crate::action) fn new(
        archive: &Collection<RawDocumentBuf>,
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
            let mut found = self.collection.find(doc! { "_id": { "$in": ids } }).await?;
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

    /// Removes these.
    pub(in crate::action) async fn remove(
        &self,
        ids: impl IntoIterator<Item = ObjectId>,
    ) -> Result<u64> {
        let ids: Vec<ObjectId> = ids.into_iter().collect();
        if ids.is_empty() {
            return Ok(0);
        }
        self.delete(doc! { "_id": { "$in": ids } }).await
    }

    /// Removes the copies of a key's buckets in the collection of this name.
    pub(in crate::action) async fn remove_key<T: Record>(
        &self,
        key: &T::Key,
        of: &str,
    ) -> Result<u64> {
        self.delete(self.of_key::<T>(key, of)?).await
    }

    /// Their number.
    pub(in crate::action) async fn count_key<T: Record>(
        &self,
        key: &T::Key,
        of: &str,
    ) -> Result<u64> {
        let count = self.collection.count_documents(self.of_key::<T>(key, of)?);
        match timeout(self.patience, count.into_future()).await {
            Ok(counted) => counted.map_err(|error| Error::read(error, &self.context)),
            Err(_) => Err(Error::read(ReadFault::Late, &self.context)),
        }
    }

    fn of_key<T: Record>(&self, key: &T::Key, of: &str) -> Result<Document> {
        let filter = Document::try_from(archive::copies_of_key::<T>(key, of));
        filter.map_err(|error| Error::read(DriverError::from(error), &self.context))
    }

    async fn delete(&self, filter: Document) -> Result<u64> {
        let delete = self.collection.delete_many(filter);
        match timeout(self.patience, delete.into_future()).await {
            Ok(Ok(deleted)) => Ok(deleted.deleted_count),
            Ok(Err(error)) => Err(Error::read(error, &self.context)),
            Err(_) => Err(Error::read(ReadFault::Late, &self.context)),
        }
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
