//! The copies of a key's buckets, and the index that leads to them.

use bson::{Bson, Document, RawDocumentBuf};

use crate::{
    bucket::{
        archived::{BUCKET, OF},
        record::Record,
    },
    codec::raw::RawWriter,
    index::IndexPlan,
    model::spec::BucketSpec,
    read::key_elements,
};

/// The name of the index that leads to a key's copies.
const INDEX: &str = "archived_keys";

/// The filter for the copies of a key's buckets. `of` is the name of the database and of the collection.
#[must_use]
pub fn copies_of_key<T: Record>(key: &T::Key, of: &str) -> RawDocumentBuf {
    RawWriter::build(|writer| {
        writer.elements(&key_elements::<T>(key));
        writer.string(&format!("{BUCKET}.{OF}"), of);
    })
}

/// The index of an archive on the keys.
#[must_use]
pub fn key_index(spec: &BucketSpec) -> IndexPlan {
    let fields = spec.keys().iter();
    let keys: Document = fields
        .map(|key| (key.path.to_owned(), Bson::Int32(1)))
        .collect();
    IndexPlan {
        name: INDEX.to_owned(),
        keys,
        unique: false,
        partial: None,
        expire_after: None,
    }
}
