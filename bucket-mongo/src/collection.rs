//! The driver's handle to a collection, for the library's own reads and writes.

use mongodb::{
    Collection, Database,
    options::{Acknowledgment, CollectionOptions},
};

use crate::write_concern::durable;

/// The collection as the database gives it, but for the write concern of a client that asks for no
/// replies (`w=0` in its URI): with that the driver refuses every aggregation, count and listing.
pub(crate) fn collection<D: Send + Sync>(database: &Database, name: &str) -> Collection<D> {
    let concern = database.write_concern();
    let without_replies =
        concern.is_some_and(|concern| concern.w == Some(Acknowledgment::Nodes(0)));
    if !without_replies {
        return database.collection(name);
    }
    // What is not set here is the database's.
    let options = CollectionOptions::builder()
        .write_concern(durable())
        .build();
    database.collection_with_options(name, options)
}
