//! The removal of expired documents.

use bson::{Bson, DateTime};

use crate::{oplog::Change, server::Server};

impl Server {
    /// Removes one document of a collection: the one that is the first to be expired at this moment
    /// by one of its TTL indexes. Returns its `_id`. A real server checks once a minute and removes
    /// documents one at a time.
    pub fn remove_expired(&mut self, namespace: &str, now: DateTime) -> Option<Bson> {
        let (name, collection) = self.collections.get_key_value(namespace)?;
        let name = name.clone();
        let id = collection.indexes.iter().find_map(|index| {
            let limit = index.expire_after?.checked_mul(1_000)?;
            let last = now.timestamp_millis().checked_sub(limit)?;
            let (date, ids) = index.dates().next()?;
            ids.first().filter(|_| date <= last).copied()
        })?;
        let collection = self.collections.get_mut(namespace)?;
        let before = collection.documents.get(&id)?.clone();
        collection.put(namespace, id, Some(&before), None).ok()?;
        let removed = before.get("_id").map(crate::value::Value::to_bson);
        self.written(
            Change::Document {
                namespace: name,
                id,
                before: Some(before),
                after: None,
            },
            None,
        );
        removed
    }
}
