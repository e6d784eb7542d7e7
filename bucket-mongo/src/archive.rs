//! The place that archived items are in.

#[cfg(feature = "object-store")]
mod files;

#[cfg(feature = "object-store")]
use std::sync::Arc;

use bucket_core::BucketSpec;
use mongodb::{Collection, Database};
#[cfg(feature = "object-store")]
use object_store::{ObjectStore, path::Path};

#[cfg(feature = "object-store")]
pub(crate) use self::files::{Files, Found};
use crate::read::Place;

/// Where the items of old buckets are: a collection of the same database, of another one, or of another cluster; or files of an
/// object store (`Archive::files`, feature `object-store`).
///
/// From a [`Database`] it is the collection with the name of the model's, from a [`Collection`] that one. A collection needs
/// an archive of its own.
///
/// ```no_run
/// # use bucket_mongo::{Bucketed, Buckets, mongodb::{Client, Database}};
/// # async fn f<T: Bucketed>(here: Database) -> bucket_mongo::mongodb::error::Result<()> {
/// use bucket_mongo::{Archive, bson::Document};
///
/// let elsewhere = Client::with_uri_str("mongodb://cold-storage").await?;
/// let in_another_cluster = Archive::from(elsewhere.database("archive"));
/// let beside_it = Archive::from(here.collection::<Document>("readings_before_2024"));
/// let buckets = T::buckets(&here).with_archive(in_another_cluster);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Archive {
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Database(Database),
    Place(Place),
}

impl Archive {
    /// Files of an object store, below this path: of Amazon S3, Google Cloud Storage, Azure, a local folder, or what else
    /// implements [`object_store`]. Several collections may have the same path, also those of several clusters.
    ///
    /// A file has copies of the buckets of one key, and is about as large as they are together, at most 8 MiB and one bucket
    /// more. See `bucket_core::archive::files` for the format.
    ///
    /// Files know no limit after which they go. So [`remove_unused_files`](crate::Buckets::remove_unused_files) has to be called now
    /// and then. In a local folder let the store call `fsync` (`LocalFileSystem::with_fsync`).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use bucket_mongo::{Archive, object_store::memory::InMemory};
    ///
    /// let archive = Archive::files(Arc::new(InMemory::new()), "archive/2024");
    /// # let _ = archive;
    /// ```
    #[cfg(feature = "object-store")]
    #[must_use]
    pub fn files(store: Arc<dyn ObjectStore>, path: impl Into<Path>) -> Self {
        Place::Files(Files::new(store, path.into())).into()
    }

    /// The place for the copies of a model's buckets.
    pub(crate) fn place(&self, spec: &BucketSpec) -> Place {
        match &self.kind {
            Kind::Database(database) => {
                Place::Collection(crate::collection::collection(database, spec.collection()))
            }
            Kind::Place(place) => place.clone(),
        }
    }
}

impl From<Place> for Archive {
    fn from(place: Place) -> Self {
        Self {
            kind: Kind::Place(place),
        }
    }
}

impl From<Database> for Archive {
    fn from(database: Database) -> Self {
        Self {
            kind: Kind::Database(database),
        }
    }
}

impl From<&Database> for Archive {
    fn from(database: &Database) -> Self {
        database.clone().into()
    }
}

impl<D: Send + Sync> From<Collection<D>> for Archive {
    fn from(collection: Collection<D>) -> Self {
        Place::Collection(collection.clone_with_type()).into()
    }
}

impl<D: Send + Sync> From<&Collection<D>> for Archive {
    fn from(collection: &Collection<D>) -> Self {
        Place::Collection(collection.clone_with_type()).into()
    }
}
