//! The copies of buckets that an archive has.
//!
//! | where they are | file |
//! | --- | --- |
//! | documents of a collection | `in_collection` |
//! | files of an object store | `in_files` |

mod in_collection;
#[cfg(feature = "object-store")]
mod in_files;

use std::{collections::HashMap, time::Duration};

#[cfg(feature = "object-store")]
use bucket_core::archive::files::NewFile;
use bucket_core::{
    Record,
    archive::{Moving, files::NewFiles},
};
use mongodb::bson::{DateTime, RawDocument, RawDocumentBuf, Uuid, oid::ObjectId};

use self::in_collection::InCollection;
#[cfg(feature = "object-store")]
pub(super) use self::in_files::InFiles;
use crate::{Result, error::Context, read::Place, store::Store};

/// How long after a file has been begun a bucket may come to refer to it.
const REFERS_WITHIN: Duration = Duration::from_secs(60 * 60);

/// The copies of a collection's buckets.
pub(in crate::action) enum Copies {
    InCollection(InCollection),
    #[cfg(feature = "object-store")]
    InFiles(Box<InFiles>),
}

/// Does the same with either.
macro_rules! each {
    ($of:expr, $copies:ident => $does:expr) => {
        match $of {
            Copies::InCollection($copies) => $does,
            #[cfg(feature = "object-store")]
            Copies::InFiles($copies) => $does,
        }
    };
}

impl Copies {
    /// Those of buckets of the store's collection; `patience` is the longest time for a command.
    pub(in crate::action) fn new(
        place: &Place,
        store: &Store,
        patience: Duration,
        context: Context,
    ) -> Self {
        match place {
            Place::Collection(archive) => Self::InCollection(InCollection::new(
                archive,
                store.namespace(),
                patience,
                context,
            )),
            #[cfg(feature = "object-store")]
            Place::Files(files) => Self::InFiles(Box::new(InFiles::new(
                files.clone(),
                store,
                patience,
                context,
            ))),
        }
    }

    /// Whether they are together in files.
    pub(in crate::action) fn are_files(&self) -> bool {
        !matches!(self, Self::InCollection(_))
    }

    /// Begins with copies that are inserted together.
    #[cfg_attr(
        not(feature = "object-store"),
        expect(clippy::unused_async, reason = "as with the feature")
    )]
    pub(super) async fn begin(&self) -> Result<NewCopies> {
        match self {
            Self::InCollection(_) => Ok(NewCopies { files: None }),
            #[cfg(feature = "object-store")]
            Self::InFiles(copies) => Ok(NewCopies {
                files: Some(copies.begin().await?),
            }),
        }
    }

    /// Inserts the copies of these buckets, which are the new ones.
    #[cfg_attr(
        not(feature = "object-store"),
        expect(unused_variables, reason = "the copies are documents then")
    )]
    pub(super) async fn insert(&self, new: NewCopies, moving: &[Moving]) -> Result<()> {
        match self {
            Self::InCollection(copies) => copies.insert(moving.iter().map(|of| &of.copy)).await,
            #[cfg(feature = "object-store")]
            Self::InFiles(copies) => copies.insert(new.finish()).await,
        }
    }

    /// These copies, by their ids.
    pub(super) async fn of(
        &self,
        ids: impl Iterator<Item = ObjectId>,
    ) -> Result<HashMap<ObjectId, RawDocumentBuf>> {
        each!(self, copies => copies.of(ids).await)
    }

    /// Whether all of these are there, as copies of the key's buckets in the collection.
    #[cfg_attr(
        not(feature = "object-store"),
        expect(unused_variables, reason = "each copy is removed by itself then")
    )]
    pub(in crate::action) async fn are_there<T: Record>(
        &self,
        key: &T::Key,
        ids: &[ObjectId],
    ) -> Result<bool> {
        match self {
            // By whom they are referred to is enough: each is removed by itself.
            Self::InCollection(copies) => copies.are_there(ids).await,
            #[cfg(feature = "object-store")]
            Self::InFiles(copies) => copies.are_there::<T>(key, ids).await,
        }
    }

    /// Removes those of these that are copies of buckets of the collection, and that no bucket refers to. Files go as soon as that
    /// is so of all of their copies.
    pub(super) async fn remove_unneeded(&mut self, ids: &[ObjectId]) -> Result<()> {
        match self {
            Self::InCollection(copies) => copies.remove(ids).await.map(drop),
            #[cfg(feature = "object-store")]
            Self::InFiles(copies) => copies.remove_unneeded(ids).await,
        }
    }

    /// Removes those of these that are copies of the key's buckets in the collection, all of which are removed themselves.
    /// Returns the number of copies.
    #[cfg_attr(
        not(feature = "object-store"),
        expect(unused_variables, reason = "each copy is removed by itself then")
    )]
    pub(in crate::action) async fn remove<T: Record>(
        &self,
        key: &T::Key,
        ids: &[ObjectId],
    ) -> Result<u64> {
        match self {
            Self::InCollection(copies) => copies.remove(ids).await,
            #[cfg(feature = "object-store")]
            Self::InFiles(copies) => copies.remove::<T>(key, ids).await,
        }
    }

    /// Removes the copies of a key's buckets in the collection. Returns their number.
    pub(in crate::action) async fn remove_key<T: Record>(&self, key: &T::Key) -> Result<u64> {
        each!(self, copies => copies.remove_key::<T>(key).await)
    }

    /// Their number.
    pub(in crate::action) async fn count_key<T: Record>(&self, key: &T::Key) -> Result<u64> {
        each!(self, copies => copies.count_key::<T>(key).await)
    }
}

/// Copies that are to be inserted together.
pub(super) struct NewCopies {
    /// None if each copy is a document of a collection.
    files: Option<NewFiles>,
}

impl NewCopies {
    /// The id for the copy of a bucket, which is the next one that is added. A bucket whose key cannot be read gets none.
    pub(super) fn id_of<T: Record>(&mut self, stored: &RawDocument) -> ObjectId {
        match &mut self.files {
            None => ObjectId::new(),
            Some(files) => files.id_of::<T>(stored, random).unwrap_or_default(),
        }
    }

    pub(super) fn add(&mut self, copy: &RawDocument) {
        if let Some(files) = &mut self.files {
            files.add(copy);
        }
    }

    /// Until when buckets may come to refer to them; none if only those remove them that know them.
    pub(super) fn until(&self) -> Option<DateTime> {
        let within = i64::try_from(REFERS_WITHIN.as_millis()).unwrap_or(i64::MAX);
        let begun = self.files.as_ref()?.at();
        Some(DateTime::from_millis(
            begun.timestamp_millis().saturating_add(within),
        ))
    }

    #[cfg(feature = "object-store")]
    fn finish(self) -> Vec<NewFile> {
        self.files.map(NewFiles::finish).unwrap_or_default()
    }
}

/// The part of a file's name that no other file has.
fn random() -> [u8; 6] {
    let uuid = Uuid::new().bytes();
    // The version comes after these.
    [uuid[0], uuid[1], uuid[2], uuid[3], uuid[4], uuid[5]]
}
