//! The removal of all buckets of a key.

use bson::{RawDocumentBuf, doc};

use crate::{
    bucket::{
        edits::{EDITS, Edits},
        stored_count,
    },
    codec::raw::{RawWriter, elements},
    model::spec::{BucketSpec, ID},
    read::{self, FindPlan, ReadKey},
};

/// The most buckets that one command removes.
const MOST: i64 = 1_000;

/// Buckets of a key: their ids, counts and edits. As many as one command removes, or all.
#[must_use]
pub(super) fn ids_of_key(spec: &BucketSpec, key: &ReadKey, all: bool) -> FindPlan {
    FindPlan {
        filter: RawWriter::build(|writer| writer.elements(key.elements())),
        limit: if all { 0 } else { MOST },
        projection: doc! { ID: 1, spec.names().count: 1, EDITS: 1 },
        ..read::pages(spec, key.elements(), None)
    }
}

/// The number of records of each of these buckets, as far as it can be read.
#[must_use]
pub(super) fn records_of(spec: &BucketSpec, found: &[RawDocumentBuf]) -> Vec<u64> {
    let records = |found: &RawDocumentBuf| {
        let count = stored_count(spec, found).ok()?;
        let count = u32::try_from(count).ok()?;
        Some(Edits::read(found).unwrap_or_default().left_of(count))
    };
    let found = found.iter().map(records);
    found.map(|records| records.map_or(0, u64::from)).collect()
}

/// The command that removes these buckets of a key.
#[must_use]
pub(super) fn removal(
    spec: &BucketSpec,
    key: &ReadKey,
    found: &[RawDocumentBuf],
) -> RawDocumentBuf {
    RawWriter::build(|writer| {
        writer.string("delete", spec.collection());
        writer.bool("ordered", true);
        let deletes = writer.begin_array("deletes");
        for (index, found) in found.iter().enumerate() {
            let delete = writer.begin_element(index);
            let filter = writer.begin_document("q");
            for element in elements(found).map_while(Result::ok) {
                if element.name == ID {
                    writer.raw(element.kind, ID, element.bytes);
                }
            }
            writer.elements(key.elements());
            writer.end(filter);
            writer.int32("limit", 1);
            writer.end(delete);
        }
        writer.end(deletes);
    })
}
