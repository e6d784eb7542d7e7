//! A key as text for messages.

use bucket_mongo::{Record, RecordKey, bson::Document};

/// The key with its stored names: `{ "sensor_id": 7 }`.
pub(crate) fn of<T: Record>(key: &T::Key) -> String {
    document::<T>(key).to_string()
}

/// The key as a bucket stores it.
pub(crate) fn document<T: Record>(key: &T::Key) -> Document {
    let names = T::SPEC.keys().iter().map(|field| field.path.to_owned());
    names.zip(key.to_values()).collect()
}
