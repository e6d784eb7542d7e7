//! Which collection the name of a model belongs to.

use bucket_mongo::{
    Buckets, Record,
    bson::{Bson, Document, doc},
    mongodb::error::ErrorKind,
};

use crate::{Error, Result};

/// The server's code for a user who may not do this.
const UNAUTHORIZED: i32 = 13;

/// The UUID of the collection; `None` if there is none, or if the user may not list it.
pub(crate) async fn uuid<T: Record>(buckets: &Buckets<T>) -> Result<Option<String>> {
    let command = doc! {
        "listCollections": 1,
        "filter": { "name": T::SPEC.collection() },
    };
    let database = buckets.database();
    let mut look = database.run_command(command);
    if let Some(criteria) = database.selection_criteria() {
        look = look.selection_criteria(criteria.clone());
    }
    let listed = match look.await {
        Ok(listed) => listed,
        Err(error) => {
            return match error.kind.as_ref() {
                ErrorKind::Command(fault) if fault.code == UNAUTHORIZED => Ok(None),
                _ => Err(Error::driver("looking at the collection", error)),
            };
        }
    };
    Ok(uuid_of(&listed))
}

/// The UUID of the only collection in a reply.
fn uuid_of(listed: &Document) -> Option<String> {
    let cursor = listed.get_document("cursor").ok()?;
    let collection = cursor
        .get_array("firstBatch")
        .ok()?
        .first()?
        .as_document()?;
    match collection.get_document("info").ok()?.get("uuid")? {
        Bson::Binary(uuid) => Some(uuid.to_uuid().ok()?.to_string()),
        _ => None,
    }
}
