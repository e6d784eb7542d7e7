//! The read that finds records by their ids.

use bson::{Bson, Document, doc};

use super::{FindPlan, ReadLevel, find};
use crate::{
    codec::raw::RawWriter,
    model::spec::{BucketSpec, UNIQUE_INDEX},
};

/// Up to this many ids, the server filters the items. It compares each item with each id, so for
/// more ids it is cheaper to send whole arrays.
const PICKED_OUT: usize = 16;

/// The bucket of a key that holds this record id, passed as BSON, with everything in it.
pub(crate) fn bucket_with(spec: &BucketSpec, key: &[u8], id: &Bson) -> FindPlan {
    let path = spec.unique_path().unwrap_or_default();
    let filter = RawWriter::build(|writer| {
        writer.elements(key);
        super::fields(writer, &doc! { path: { "$eq": id } });
    });
    FindPlan {
        filter,
        sort: Document::new(),
        limit: 1,
        hint: UNIQUE_INDEX.to_owned(),
        ..find(spec, bson::RawDocumentBuf::new())
    }
}

/// The buckets of a key that hold one of these record ids, each passed as a BSON element. They come
/// with the items of those ids, and for many ids with other items too.
///
/// A caller does not deliver a reported duplicate again, so the found record must not be rolled
/// back.
pub(crate) fn repeats(spec: &BucketSpec, key: &[u8], ids: &[&[u8]]) -> FindPlan {
    let path = spec.unique_path().unwrap_or_default();
    let write_ids = |writer: &mut RawWriter, name: &str| {
        let array = writer.begin_array(name);
        for (index, id) in ids.iter().enumerate() {
            writer.value_of(index, id);
        }
        writer.end(array);
    };
    let filter = RawWriter::build(|writer| {
        writer.elements(key);
        let one_of = writer.begin_document(&path);
        write_ids(writer, "$in");
        writer.end(one_of);
    });
    let mut projection = doc! { "_id": 0 };
    if ids.len() <= PICKED_OUT {
        let literal = RawWriter::build(|writer| write_ids(writer, "$literal"));
        let literal = Document::try_from(literal).unwrap_or_default();
        let id = format!("$$this.{}", spec.unique().unwrap_or_default());
        let picked_out = doc! { "$filter": {
            "input": format!("${}", spec.items()),
            "cond": { "$in": [id, literal] },
        } };
        projection.insert(spec.items(), picked_out);
    } else {
        projection.insert(spec.items(), Bson::Int32(1));
    }
    for array in spec.shared_arrays() {
        projection.insert(array.name, 1);
    }
    FindPlan {
        filter,
        sort: Document::new(),
        projection,
        hint: UNIQUE_INDEX.to_owned(),
        level: ReadLevel::Majority,
        ..find(spec, bson::RawDocumentBuf::new())
    }
}
