//! The removal of what is past its time.

use bson::{Bson, DateTime};

use crate::{oplog::Change, server::Server};

impl Server {
    /// Removes the one document of a collection whose date is past first by one of its TTL indexes, at
    /// this moment; gives its `_id`. The server looks once a minute and removes one after the other.
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
