//! The statements of a repair, which match only the document that was read.

use std::collections::HashSet;

use bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};

use super::changes::Changes;
use crate::{
    bucket::{edits::EDITS, record::Record},
    codec::raw::{
        Element, RawWriter, elements,
        kind::{ARRAY, UNDEFINED},
    },
    model::{
        size::MAX_DOCUMENT_BYTES,
        spec::{BucketSpec, ID, ID_INDEX},
    },
    read::{FindPlan, ReadLevel},
};

/// A document up to this size can be in a statement twice.
const MOST: usize = MAX_DOCUMENT_BYTES / 2 - 64 * 1_024;

/// The read of the document with this id.
///
/// ```
/// use bucket_core::repair::document_with_id;
///
/// assert_eq!(document_with_id(&"a_1".into()).limit, 1);
/// ```
#[must_use]
pub fn document_with_id(id: &Bson) -> FindPlan {
    let filter = doc! { ID: { "$eq": id } };
    FindPlan {
        filter: RawDocumentBuf::try_from(&filter).unwrap_or_default(),
        sort: Document::new(),
        skip: 0,
        limit: 1,
        projection: Document::new(),
        hint: ID_INDEX.to_owned(),
        level: ReadLevel::Local,
    }
}

/// The command that mends the document; `None` if it is too large.
pub(super) fn mend<T: Record>(stored: &RawDocument, changes: &Changes) -> Option<RawDocumentBuf> {
    let spec = T::SPEC;
    let is_large = stored.as_bytes().len() > MOST;
    let appended = changes.appended(stored, spec.items());
    if is_large && appended.is_none() && changes.names().any(|name| name == spec.items()) {
        return None;
    }
    Some(RawWriter::build(|writer| {
        writer.string("update", spec.collection());
        writer.bool("ordered", true);
        let updates = writer.begin_array("updates");
        let update = writer.begin_element(0);
        write_filter(spec, stored, writer);
        let change = writer.begin_document("u");
        let others = changes.names().count() - usize::from(appended.is_some());
        // The server refuses an empty operator before 5.0.
        if others > changes.unset().count() {
            let sets = writer.begin_document("$set");
            let but = appended.is_some().then(|| spec.items());
            changes.write_set(but, writer);
            writer.end(sets);
        }
        if let Some(appended) = &appended {
            let push = writer.begin_document("$push");
            let items = writer.begin_document(spec.items());
            writer.raw(ARRAY, "$each", appended.as_bytes());
            writer.end(items);
            writer.end(push);
        }
        if changes.unset().next().is_some() {
            let unsets = writer.begin_document("$unset");
            for name in changes.unset() {
                writer.string(name, "");
            }
            writer.end(unsets);
        }
        writer.end(change);
        writer.string("hint", ID_INDEX);
        writer.end(update);
        writer.end(updates);
    }))
}

/// The command that removes the document from the collection.
///
/// ```
/// # use bson::{RawDocument, RawDocumentBuf};
/// # use bucket_core::{BucketSpec, repair};
/// fn after_the_copy(spec: &BucketSpec, stored: &RawDocument) -> RawDocumentBuf {
///     repair::move_out(spec, stored)
/// }
/// ```
#[must_use]
pub fn move_out(spec: &BucketSpec, stored: &RawDocument) -> RawDocumentBuf {
    RawWriter::build(|writer| {
        writer.string("delete", spec.collection());
        writer.bool("ordered", true);
        let deletes = writer.begin_array("deletes");
        let delete = writer.begin_element(0);
        write_filter(spec, stored, writer);
        writer.int32("limit", 1);
        writer.end(delete);
        writer.end(deletes);
    })
}

/// Whether a filter can ask for the element.
fn can_be_named(element: &Element<'_>) -> bool {
    // The server refuses a comparison with `undefined`.
    !element.name.contains(['.', '$']) && element.kind != UNDEFINED
}

/// The document exactly as it was read. In place of a large one: its fields, and the number of its items, which
/// every append changes; an edit changes its number of edits, also the first one.
fn write_filter(spec: &BucketSpec, stored: &RawDocument, writer: &mut RawWriter) {
    let filter = writer.begin_document("q");
    let is_large = stored.as_bytes().len() > MOST;
    let is_key = |name: &str| spec.keys().iter().any(|key| key.path == name);
    if is_large && matches!(stored.get(EDITS), Ok(None)) {
        let none = writer.begin_document(EDITS);
        writer.bool("$exists", false);
        writer.end(none);
    }
    let mut names = HashSet::new();
    for element in elements(stored).map_while(Result::ok) {
        let name = element.name;
        // Of a repeated name, the server compares the first.
        if !names.insert(name) {
            continue;
        }
        if name == spec.items() && is_large {
            if let Ok(Some(items)) = stored.get(name).map(|items| items?.as_array()) {
                let size = writer.begin_document(name);
                writer.integer(
                    "$size",
                    i64::try_from(items.into_iter().count()).unwrap_or(0),
                );
                writer.end(size);
            }
        } else if name == ID
            || (is_key(name) && can_be_named(&element))
            || (is_large && can_be_named(&element))
        {
            let equal = writer.begin_document(name);
            writer.raw(element.kind, "$eq", element.bytes);
            writer.end(equal);
        }
    }
    if !is_large {
        let compared = writer.begin_document("$expr");
        // MongoDB 5.0 makes a match of an `$eq` with a literal, and fails at the whole document.
        let same = writer.begin_array("$not");
        let order = writer.begin_element(0);
        let both = writer.begin_array("$cmp");
        writer.string("0", "$$ROOT");
        let whole = writer.begin_element(1);
        writer.document("$literal", stored);
        writer.end(whole);
        writer.end(both);
        writer.end(order);
        writer.end(same);
        writer.end(compared);
    }
    writer.end(filter);
}
