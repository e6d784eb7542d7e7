//! The collection with the descriptions of all collections of a database.

use bucket_core::schema::MODELS;
use mongodb::{
    Collection, Database,
    bson::{Document, doc},
    error::Result,
};

use crate::collection::collection_on_primary;

/// The driver's handle to it, which reads the primary.
pub(crate) fn models(database: &Database) -> Collection<Document> {
    collection_on_primary(database, MODELS)
}

/// What is stored about the collection of this name, on the primary.
pub(crate) async fn stored(database: &Database, name: &str) -> Result<Option<Document>> {
    models(database).find_one(doc! { "_id": name }).await
}
