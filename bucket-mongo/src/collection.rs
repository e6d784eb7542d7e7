//! The driver's handle to a collection, for the library's own reads and writes, and the collection's indexes.

use bucket_core::{index, read::SIMPLE, write::Listing};
use futures_util::TryStreamExt;
use mongodb::{
    Collection, Database,
    bson::Document,
    error::{Error, Result},
    options::{
        Acknowledgment, Collation, CollectionOptions, ReadConcern, ReadPreference,
        SelectionCriteria,
    },
};

use crate::{write_concern::durable, writer::faults::code};

/// The collation of every read of buckets, whatever the collection's own is.
pub(crate) fn simple_collation() -> Collation {
    Collation::builder().locale(SIMPLE).build()
}

/// The collection as the database gives it, unless its client asks for no replies (`w=0` in its URI): with
/// that write concern the driver refuses every aggregation, count and listing.
pub(crate) fn collection<D: Send + Sync>(database: &Database, name: &str) -> Collection<D> {
    let concern = database.write_concern();
    let without_replies =
        concern.is_some_and(|concern| concern.w == Some(Acknowledgment::Nodes(0)));
    if !without_replies {
        return database.collection(name);
    }
    // The database's options apply to what is not set here.
    let options = CollectionOptions::builder()
        .write_concern(durable())
        .build();
    database.collection_with_options(name, options)
}

/// The same for reads of the primary, with the read concern `local`.
pub(crate) fn collection_on_primary<D: Send + Sync>(
    database: &Database,
    name: &str,
) -> Collection<D> {
    let as_it_is = collection::<D>(database, name);
    let mut options = CollectionOptions::default();
    options.write_concern = as_it_is.write_concern().cloned();
    options.read_concern = Some(ReadConcern::local());
    options.selection_criteria = Some(SelectionCriteria::ReadPreference(ReadPreference::Primary));
    database.collection_with_options(name, options)
}

/// The indexes of a collection, and which of them are still being built, if the server reports it.
pub(crate) async fn list_indexes(database: &Database, name: &str) -> Result<Vec<Document>> {
    let is_not_known =
        |error: &Error| code(error).and_then(Listing::of_error) == Some(Listing::NotKnown);
    let all = index::list(name, false);
    let cursor = match database.run_cursor_command(all).await {
        Err(error) if is_not_known(&error) => {
            database.run_cursor_command(index::list(name, true)).await
        }
        cursor => cursor,
    };
    cursor?.try_collect().await
}
