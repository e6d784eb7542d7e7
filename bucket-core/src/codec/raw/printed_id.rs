//! Names the document in a message.

use bson::{Bson, RawDocument};

use crate::model::spec::ID;

/// For a document that has no `_id`.
pub(crate) const WITHOUT_ID: &str = "without an `_id`";

/// The `_id` as text, for messages.
pub(crate) fn printed_id(stored: &RawDocument) -> String {
    match stored.get(ID) {
        Ok(Some(id)) => Bson::try_from(id).map_or_else(|_| "?".to_owned(), |id| id.to_string()),
        _ => WITHOUT_ID.to_owned(),
    }
}
