//! Why a read misses its index: the collection may be of another kind, or have a collation. `ensure` creates
//! no index there, so the error has to say what is in the way.

use bucket_core::write::{Listing, collection_drift, names_no_index};
use mongodb::{
    Collection,
    bson::{RawDocumentBuf, doc},
    error::ErrorKind as DriverKind,
};

use super::terms::Terms;
use crate::error::ReadFault;

/// The same fault, or what is wrong with the collection where that is why an index is missing.
pub(super) async fn explained(
    fault: ReadFault,
    collection: &Collection<RawDocumentBuf>,
    terms: &Terms,
) -> ReadFault {
    let ReadFault::Driver(error) = fault else {
        return fault;
    };
    let misses_an_index = match error.kind.as_ref() {
        DriverKind::Command(refused) => names_no_index(&refused.message),
        _ => false,
    };
    if !misses_an_index || terms.is_in_time().is_err() {
        return ReadFault::Driver(error);
    }
    let namespace = collection.namespace();
    let database = collection.client().database(&namespace.db);
    // Outside of the call's session: a transaction lists no collections.
    let look = doc! { "listCollections": 1, "filter": { "name": namespace.coll }, "cursor": {} };
    let mut look = database.run_command(terms.command(look));
    if let Some(criteria) = terms.criteria.as_ref().or(collection.selection_criteria()) {
        look = look.selection_criteria(criteria.clone());
    }
    // A look that fails leaves the first error, which is true as well.
    let listing = terms.within(look.into_future()).await.ok();
    let found = match listing.as_ref().map(Listing::of_reply) {
        Some(Listing::Found(found)) => found,
        _ => Vec::new(),
    };
    match found.first().and_then(collection_drift) {
        Some(drift) => ReadFault::Drift(Box::new(drift)),
        None => ReadFault::Driver(error),
    }
}
