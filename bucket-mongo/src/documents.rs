//! The handle to documents with attributes, and its operations.

mod attributed;
mod ensure_documents;
mod find_documents;
mod insert_documents;
mod inserted_documents;
mod migrate;
mod store_documents;

use std::{fmt, marker::PhantomData, sync::Arc};

use bucket_core::attribute::{self, DocumentSpec};
use mongodb::{Collection, Database, bson::RawDocumentBuf};

use crate::{collection::collection, writer::cache::SharedCache};

pub use self::{
    attributed::Attributed,
    ensure_documents::{EnsureDocuments, EnsureDocumentsReport},
    find_documents::{DocumentStream, FindQuery},
    insert_documents::{InsertDocument, InsertDocuments},
    inserted_documents::{FailedDocument, InsertDocumentsReport},
    migrate::{MigrateDocuments, MigrationProgress, MigrationReport, RefusedDocument},
};

/// The documents of `T` in one database. Cheap to make and to clone.
///
/// Every operation returns a builder that does nothing until it is awaited.
///
/// ```no_run
/// # use bucket_mongo::{Attributed, Documents, Result};
/// async fn all<T: Attributed>(documents: &Documents<T>) -> Result<Vec<T>> {
///     documents.find(bucket_mongo::bson::doc! {}).await
/// }
/// ```
pub struct Documents<T: attribute::Attributed> {
    database: Database,
    cache: Arc<SharedCache>,
    document: PhantomData<fn() -> T>,
}

impl<T: attribute::Attributed> Documents<T> {
    pub(crate) fn new(database: &Database) -> Self {
        Self {
            database: database.clone(),
            cache: Arc::default(),
            document: PhantomData,
        }
    }

    /// The description that the derive made from the struct.
    #[must_use]
    pub fn spec(&self) -> &'static DocumentSpec {
        T::SPEC
    }

    /// The database.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// The driver's handle to the collection, for queries of your own.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Attributed, Documents, bson::{Document, doc}};
    /// # async fn f<T: Attributed>(documents: Documents<T>) -> bucket_mongo::mongodb::error::Result<()> {
    /// documents.collection::<Document>().delete_one(doc! { "_id": 1 }).await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn collection<D: Send + Sync>(&self) -> Collection<D> {
        self.database.collection(T::SPEC.collection())
    }

    fn stored(&self) -> Collection<RawDocumentBuf> {
        collection(&self.database, T::SPEC.collection())
    }
}

impl<T: attribute::Attributed> Clone for Documents<T> {
    fn clone(&self) -> Self {
        Self {
            database: self.database.clone(),
            cache: Arc::clone(&self.cache),
            document: PhantomData,
        }
    }
}

impl<T: attribute::Attributed> fmt::Debug for Documents<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Documents")
            .field("database", &self.database.name())
            .field("collection", &T::SPEC.collection())
            .finish_non_exhaustive()
    }
}
