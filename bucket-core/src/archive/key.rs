//! The copies of a key's buckets, and the index that leads to them.

use bson::{Bson, Document, RawDocumentBuf, doc, oid::ObjectId};

use crate::{
    bucket::{
        archived::{BUCKET, INDEX, OF},
        record::Record,
    },
    codec::raw::{RawWriter, kind::OBJECT_ID},
    index::IndexPlan,
    model::spec::{BucketSpec, ID},
    read::key_elements,
};

/// The filter for the copies of a key's buckets. `of` is the name of the database and of the collection.
#[must_use]
pub fn copies_of_key<T: Record>(key: &T::Key, of: &str) -> RawDocumentBuf {
    RawWriter::build(|writer| {
        writer.elements(&key_elements::<T>(key));
        writer.string(&format!("{BUCKET}.{OF}"), of);
    })
}

/// The filter for these copies of buckets of this collection: a copy that another collection refers to as well, because it
/// was restored from a dump, is not removed by it.
#[must_use]
pub fn copies_of(ids: &[ObjectId], of: &str) -> RawDocumentBuf {
    RawWriter::build(|writer| {
        let id = writer.begin_document(ID);
        let any = writer.begin_array("$in");
        for (index, id) in ids.iter().enumerate() {
            writer.raw_element(index, OBJECT_ID, &id.bytes());
        }
        writer.end(any);
        writer.end(id);
        writer.string(&format!("{BUCKET}.{OF}"), of);
    })
}

/// The condition for the copies of buckets of this collection.
#[must_use]
pub fn copies_in(of: &str) -> Document {
    doc! { format!("{BUCKET}.{OF}"): of }
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
