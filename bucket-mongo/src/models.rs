//! The collection with the descriptions of all collections of a database.

use bucket_core::schema::MODELS;
use mongodb::{
    Collection, Database,
    bson::{Document, doc},
    error::Result,
    options::{ReadPreference, SelectionCriteria},
};

use crate::collection::collection;

/// The driver's handle to it.
pub(crate) fn models(database: &Database) -> Collection<Document> {
    collection(database, MODELS)
}

/// What is stored about the collection of this name, on the primary.
pub(crate) async fn stored(database: &Database, name: &str) -> Result<Option<Document>> {
    let primary = SelectionCriteria::ReadPreference(ReadPreference::Primary);
    let models = models(database);
    let found = models.find_one(doc! { "_id": name });
    found.selection_criteria(primary).await
}
