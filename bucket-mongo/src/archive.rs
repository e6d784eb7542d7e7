//! The collection that archived items are in.

use bucket_core::BucketSpec;
use mongodb::{Collection, Database, bson::RawDocumentBuf};

/// Where the items of old buckets are: a collection of the same database, of another one, or of another cluster.
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
    place: Place,
}

#[derive(Debug, Clone)]
enum Place {
    Database(Database),
    Collection(Collection<RawDocumentBuf>),
}

impl Archive {
    /// The collection for the copies of a model's buckets.
    pub(crate) fn collection(&self, spec: &BucketSpec) -> Collection<RawDocumentBuf> {
        match &self.place {
            Place::Database(database) => crate::collection::collection(database, spec.collection()),
            Place::Collection(collection) => collection.clone(),
        }
    }
}

impl From<Database> for Archive {
    fn from(database: Database) -> Self {
        Self {
            place: Place::Database(database),
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
        Self {
            place: Place::Collection(collection.clone_with_type()),
        }
    }
}

impl<D: Send + Sync> From<&Collection<D>> for Archive {
    fn from(collection: &Collection<D>) -> Self {
        Self {
            place: Place::Collection(collection.clone_with_type()),
        }
    }
}
