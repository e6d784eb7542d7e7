//! `describe`: what is known about a collection without its model.

use bucket_core::schema::{CollectionDescription, MODELS};
use mongodb::Database;
use tracing::Instrument;

use super::ActionFuture;
use crate::{Error, ErrorKind, Result, error::Context, models::stored, trace};

/// The description of a collection of buckets, as [`ensure`](crate::Buckets::ensure) stores it for services and tools
/// that do not have the model: names, form, types of fields, aggregates. `None` if no `ensure` has described a
/// collection of this name.
///
/// It reads one document of the collection `bucket_models` of the same database.
///
/// # Errors
///
/// [`ErrorKind::InvalidArgument`] if the stored document is no description; those of any read.
///
/// ```no_run
/// # async fn f(database: bucket_mongo::mongodb::Database) -> bucket_mongo::Result<()> {
/// if let Some(described) = bucket_mongo::describe(&database, "trades").await? {
///     for field in &described.fields {
///         println!("{}: {}", field.name, field.kind);
///     }
/// }
/// # Ok(())
/// # }
/// ```
pub fn describe(database: &Database, collection: impl Into<String>) -> Describe<'_> {
    Describe {
        database,
        collection: collection.into(),
    }
}

/// A read of a description; see [`describe`].
#[must_use = "nothing is read until this is awaited"]
#[derive(Debug)]
pub struct Describe<'a> {
    database: &'a Database,
    collection: String,
}

impl Describe<'_> {
    async fn run(self) -> Result<Option<CollectionDescription>> {
        let context = Context {
            operation: "describe",
            collection: MODELS,
            spec: None,
            key: Some(self.collection.clone()),
        };
        let found = stored(self.database, &self.collection).await;
        let Some(found) = found.map_err(|error| Error::read(error, &context))? else {
            return Ok(None);
        };
        let described = CollectionDescription::parse(found).map_err(|message| {
            let message = format!("the document in `{MODELS}` is no description: {message}");
            Error::new(ErrorKind::InvalidArgument { message }, &context)
        })?;
        Ok(Some(described))
    }
}

impl<'a> IntoFuture for Describe<'a> {
    type Output = Result<Option<CollectionDescription>>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span = tracing::debug_span!(target: trace::ADMIN, "describe", collection = MODELS);
        Box::pin(self.run().instrument(span))
    }
}
