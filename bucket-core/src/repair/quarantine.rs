//! The copy of a document in the quarantine.

use bson::{DateTime, RawDocument, RawDocumentBuf, doc};

use crate::{
    check::Problem,
    codec::raw::{RawWriter, elements},
    model::spec::{BucketSpec, ID},
};

/// The field with the document.
pub(super) const DOCUMENT: &str = "document";
/// Within the id of a copy: the collection that the document was in.
pub(super) const COLLECTION: &str = "collection";
/// Within the id of a copy: the id of the document.
pub(super) const ID_OF_DOCUMENT: &str = "id";

/// The id of the copy, and the command that stores it. A document with the same id may have been moved before:
/// then the next number is for this one.
///
/// ```json
/// { "_id": { "collection": "events", "id": "a_1698335223", "number": 0 }, "at": ..,
///   "reasons": [{ "problem": "item", "index": 3, .., "text": ".." }], "document": { .. } }
/// ```
///
/// ```
/// # use bson::{DateTime, RawDocument, RawDocumentBuf};
/// # use bucket_core::{BucketSpec, check::Problem, repair};
/// fn copy(spec: &BucketSpec, stored: &RawDocument, problems: &[Problem]) -> RawDocumentBuf {
///     let (_, command) = repair::quarantine(spec, "moved", stored, problems, 0, DateTime::now());
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
    now: DateTime,
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

fn reason(problem: &Problem) -> RawDocumentBuf {
    let mut reason = bson::serialize_to_document(problem).unwrap_or_else(|_| doc! {});
    reason.insert("text", problem.to_string());
    RawDocumentBuf::try_from(&reason).unwrap_or_default()
}
