//! The copy of a document in the quarantine.

use bson::{DateTime, RawDocument, RawDocumentBuf, doc, oid::ObjectId};

use crate::{
    check::Problem,
    codec::raw::{RawWriter, elements, kind::OBJECT_ID},
    model::spec::{BucketSpec, ID},
};

/// The field with the document.
pub(super) const DOCUMENT: &str = "document";
/// Within the id of a copy: the collection that the document was in.
pub(super) const COLLECTION: &str = "collection";
/// Within the id of a copy: the id of the document.
pub(super) const ID_OF_DOCUMENT: &str = "id";

/// The calls that rely on the copy: those at work, those that have moved the document, and those that ended in between.
const CALLS: &str = "calls";

/// The id of the copy, and the command that stores it. A document with the same id may have been moved before:
/// then the next number is for this one.
///
/// ```json
/// { "_id": { "collection": "events", "id": "a_1698335223", "number": 0 }, "at": .., "calls": [..],
///   "reasons": [{ "problem": "item", "index": 3, .., "text": ".." }], "document": { .. } }
/// ```
///
/// ```
/// # use bson::{DateTime, RawDocument, RawDocumentBuf, oid::ObjectId};
/// # use bucket_core::{BucketSpec, check::Problem, repair};
/// fn copy(spec: &BucketSpec, stored: &RawDocument, problems: &[Problem]) -> RawDocumentBuf {
///     let by = (DateTime::now(), ObjectId::new());
///     let (_, command) = repair::quarantine(spec, "moved", stored, problems, 0, by);
///     command
/// }
/// ```
#[must_use]
pub fn quarantine(
    spec: &BucketSpec,
    into: &str,
    stored: &RawDocument,
    problems: &[Problem],
    number: i32,
    (now, call): (DateTime, ObjectId),
) -> (RawDocumentBuf, RawDocumentBuf) {
    let id = RawWriter::build(|writer| {
        writer.string(COLLECTION, spec.collection());
        for element in elements(stored).map_while(Result::ok) {
            if element.name == ID {
                writer.raw(element.kind, ID_OF_DOCUMENT, element.bytes);
                break;
            }
        }
        writer.int32("number", number);
    });
    let command = RawWriter::build(|writer| {
        writer.string("insert", into);
        writer.bool("ordered", true);
        let documents = writer.begin_array("documents");
        let copy = writer.begin_element(0);
        writer.document(ID, &id);
        writer.date("at", now.timestamp_millis());
        let calls = writer.begin_array(CALLS);
        writer.raw(OBJECT_ID, "0", &call.bytes());
        writer.end(calls);
        let reasons = writer.begin_array("reasons");
        for (index, problem) in problems.iter().take(MOST_REASONS).enumerate() {
            writer.element(index, reason(problem).as_bytes());
        }
        writer.end(reasons);
        writer.document(DOCUMENT, stored);
        writer.end(copy);
        writer.end(documents);
    });
    (id, command)
}

/// A document of 16 MB leaves room for about this many in the copy.
const MOST_REASONS: usize = 20;

/// The document of a copy.
///
/// ```
/// use bson::rawdoc;
/// use bucket_core::repair::copied_document;
///
/// let copy = rawdoc! { "_id": { "id": "a_1" }, "document": { "_id": "a_1" } };
/// assert!(copied_document(&copy).is_some());
/// ```
#[must_use]
pub fn copied_document(copy: &RawDocument) -> Option<&RawDocument> {
    copy.get_document(DOCUMENT).ok()
}

/// The command by which a further call relies on a copy. A second execution changes nothing more.
///
/// ```
/// # use bson::{RawDocument, RawDocumentBuf, oid::ObjectId};
/// # use bucket_core::repair;
/// fn relied_on_by_one_more(copy: &RawDocument) -> RawDocumentBuf {
///     repair::rely_on("moved", copy, ObjectId::new())
/// }
/// ```
#[must_use]
pub fn rely_on(into: &str, id: &RawDocument, call: ObjectId) -> RawDocumentBuf {
    change_calls(into, id, "$addToSet", call)
}

/// The command by which a call no longer relies on a copy. A second execution changes nothing more.
///
/// ```
/// # use bson::{RawDocument, RawDocumentBuf, oid::ObjectId};
/// # use bucket_core::repair;
/// fn relied_on_by_one_less(copy: &RawDocument, call: ObjectId) -> RawDocumentBuf {
///     repair::leave("moved", copy, call)
/// }
/// ```
#[must_use]
pub fn leave(into: &str, id: &RawDocument, call: ObjectId) -> RawDocumentBuf {
    change_calls(into, id, "$pull", call)
}

fn change_calls(into: &str, id: &RawDocument, operator: &str, call: ObjectId) -> RawDocumentBuf {
    RawWriter::build(|writer| {
        writer.string("update", into);
        writer.bool("ordered", true);
        let updates = writer.begin_array("updates");
        let update = writer.begin_element(0);
        let filter = writer.begin_document("q");
        writer.document(ID, id);
        // Copies of earlier releases are never taken back.
        let has_calls = writer.begin_document(CALLS);
        writer.bool("$exists", true);
        writer.end(has_calls);
        writer.end(filter);
        let change = writer.begin_document("u");
        let calls = writer.begin_document(operator);
        writer.raw(OBJECT_ID, CALLS, &call.bytes());
        writer.end(calls);
        writer.end(change);
        writer.end(update);
        writer.end(updates);
    })
}

/// The command that removes a copy that no call relies on: its document changed before any could move it.
///
/// ```
/// # use bson::{RawDocument, RawDocumentBuf};
/// # use bucket_core::repair;
/// fn in_vain(copy: &RawDocument) -> RawDocumentBuf {
///     repair::take_back("moved", copy)
/// }
/// ```
#[must_use]
pub fn take_back(into: &str, id: &RawDocument) -> RawDocumentBuf {
    RawWriter::build(|writer| {
        writer.string("delete", into);
        writer.bool("ordered", true);
        let deletes = writer.begin_array("deletes");
        let delete = writer.begin_element(0);
        let filter = writer.begin_document("q");
        writer.document(ID, id);
        let calls = writer.begin_document(CALLS);
        writer.int32("$size", 0);
        writer.end(calls);
        writer.end(filter);
        writer.int32("limit", 1);
        writer.end(delete);
        writer.end(deletes);
    })
}

/// Whether a copy names the calls that rely on it. Those of earlier releases do not, and stay.
///
/// ```
/// use bson::rawdoc;
/// use bucket_core::repair::may_be_taken_back;
///
/// assert!(!may_be_taken_back(&rawdoc! { "_id": { "id": "a_1" }, "document": { "_id": "a_1" } }));
/// ```
#[must_use]
pub fn may_be_taken_back(copy: &RawDocument) -> bool {
    matches!(copy.get(CALLS), Ok(Some(_)))
}

fn reason(problem: &Problem) -> RawDocumentBuf {
    let mut reason = bson::serialize_to_document(problem).unwrap_or_else(|_| doc! {});
    reason.insert("text", problem.to_string());
    RawDocumentBuf::try_from(&reason).unwrap_or_default()
}
