//! What is kept of a document that is not stored as a record.

use bson::{RawBsonRef, RawDocument, RawDocumentBuf, spec::BinarySubtype};

use crate::{
    codec::raw::{RawWriter, elements},
    model::{size::MAX_DOCUMENT_BYTES, spec::ID},
};

/// What a reject may add to its document, in bytes.
const OWN_BYTES: usize = 64 * 1024;
/// The most levels that a document has in a reject; the server takes a few more.
const LEVELS: usize = 150;
/// The most bytes of a reason.
const REASON_BYTES: usize = 4_096;

/// The name of the collection that has the rejects of a collection of buckets.
///
/// ```
/// assert_eq!(bucket_core::backfill::rejects_name("trades"), "trades_rejects");
/// ```
#[must_use]
pub fn rejects_name(collection: &str) -> String {
    format!("{collection}_rejects")
}

/// The reject of a document of this source: its `_id` and its document, as they are, and the reason.
///
/// A document that is too deep to be in another one is kept as the bytes of its BSON. One that is too large is left out, with
/// its size: the source has it.
#[must_use]
pub fn reject(from: &str, document: &RawDocument, reason: &str) -> RawDocumentBuf {
    let mut end = reason.len().min(REASON_BYTES);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    RawWriter::build(|writer| {
        let id = writer.begin_document(ID);
        writer.string("from", from);
        let mut fields = elements(document).map_while(Result::ok);
        if let Some(field) = fields.find(|field| field.name == ID) {
            writer.raw(field.kind, "id", field.bytes);
        }
        writer.end(id);
        writer.string("reason", reason.get(..end).unwrap_or_default());
        let bytes = document.as_bytes();
        if bytes.len() + OWN_BYTES > MAX_DOCUMENT_BYTES {
            writer.integer("bytes", i64::try_from(bytes.len()).unwrap_or(i64::MAX));
        } else if is_deeper_than(document, LEVELS) {
            writer.binary("document", BinarySubtype::Generic, bytes);
        } else {
            writer.document("document", document);
        }
    })
}

fn is_deeper_than(document: &RawDocument, levels: usize) -> bool {
    let mut values = document
        .into_iter()
        .map(|field| field.map(|(_, value)| value));
    values.any(|value| value.is_ok_and(|value| is_value_deeper(value, levels)))
}

fn is_value_deeper(value: RawBsonRef<'_>, levels: usize) -> bool {
    match (value, levels.checked_sub(1)) {
        (RawBsonRef::Document(_) | RawBsonRef::Array(_), None) => true,
        (RawBsonRef::Document(inner), Some(levels)) => is_deeper_than(inner, levels),
        (RawBsonRef::Array(inner), Some(levels)) => inner
            .into_iter()
            .any(|value| value.is_ok_and(|value| is_value_deeper(value, levels))),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use bson::{Binary, Bson, Document, RawDocumentBuf, doc, spec::BinarySubtype};

    use super::{LEVELS, reject};

    fn of(document: &Document) -> (RawDocumentBuf, Document) {
        let document = RawDocumentBuf::try_from(document).unwrap();
        let reject = Document::try_from(reject("a.b", &document, "no")).unwrap();
        (document, reject)
    }

    #[test]
    fn a_reject_has_its_document_as_it_is() {
        let document = doc! { "x": { "$y": f64::NAN }, "_id": { "a": 1_i64 } };
        let (_, found) = of(&document);
        assert_eq!(
            found.to_string(),
            doc! {
                "_id": { "from": "a.b", "id": { "a": 1_i64 } }, "reason": "no", "document": document,
            }
            .to_string()
        );
    }

    #[test]
    fn a_document_that_does_not_fit_into_another_one_is_kept_otherwise() {
        let mut deep = doc! {};
        for _ in 0..=LEVELS {
            deep = doc! { "d": deep };
        }
        let (bytes, found) = of(&deep);
        let kept = Binary {
            subtype: BinarySubtype::Generic,
            bytes: bytes.as_bytes().to_vec(),
        };
        assert_eq!(found.get("document"), Some(&Bson::Binary(kept)));
        let large = doc! { "_id": 1, "x": "x".repeat(16 * 1024 * 1024 - 100) };
        let (bytes, found) = of(&large);
        let length = i32::try_from(bytes.as_bytes().len()).unwrap();
        assert_eq!(found.get("bytes"), Some(&Bson::Int32(length)));
        assert_eq!(found.get("document"), None);
        assert_eq!(found.get_document("_id").unwrap().get_i32("id").unwrap(), 1);
    }

    #[test]
    fn a_long_reason_is_cut_between_characters() {
        let document = RawDocumentBuf::new();
        let reason = "ü".repeat(5_000);
        let found = Document::try_from(reject("a.b", &document, &format!("x{reason}"))).unwrap();
        assert!(found.get_str("reason").unwrap().len() <= 4_096);
    }
}
