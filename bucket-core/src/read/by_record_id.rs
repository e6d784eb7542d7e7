//! The read that finds records by their ids.

use bson::{Bson, Document, doc};

use super::{FindPlan, ReadLevel, find};
use crate::{
    codec::raw::RawWriter,
    model::spec::{BucketSpec, UNIQUE_INDEX},
};

/// For so many ids the server picks out their items. It compares each item with each of them, so
/// for more it costs less to send the arrays whole.
const PICKED_OUT: usize = 16;

/// The buckets of a key that hold one of these record ids, each given as an element of BSON: the
/// items of those ids, and where there are many ids others too.
///
/// Whoever is told of a duplicate does not deliver it again, so none may be taken back.
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
