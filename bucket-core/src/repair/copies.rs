//! The copies of a key's buckets in the quarantine: which they are, and their removal.

use bson::{Bson, RawBsonRef, RawDocument, RawDocumentBuf, doc};

use super::quarantine::{COLLECTION, DOCUMENT, ID_OF_DOCUMENT, copied_document};
use crate::{
    bucket::{
        id, key_of,
        record::Record,
        sealed::{SEALED, archived_path, says_archived},
    },
    codec::raw::{RawWriter, elements},
    model::spec::{BucketSpec, ID, ID_INDEX},
    read::{FindPlan, ReadKey, ReadLevel, SIMPLE},
};

/// No id has a character after this one.
const LAST: char = char::MAX;

/// The read of the copies of a key's buckets: those whose key fields are the key's, and those whose id begins as the
/// key's ids do. [`is_copy_of_key`] says which of them are.
///
/// ```
/// # use bucket_core::{Record, repair};
/// fn all<T: Record>(key: &T::Key) -> i64 {
///     repair::copies_of_key::<T>(key).limit
/// }
/// ```
#[must_use]
pub fn copies_of_key<T: Record>(key: &T::Key) -> FindPlan {
    let spec = T::SPEC;
    let read = ReadKey::of::<T>(key);
    let fields = RawWriter::build(|writer| writer.elements(read.elements()));
    let prefix = id::prefix(spec, key);
    let filter = RawWriter::build(|writer| {
        writer.document(ID, &of_collection(spec));
        let any = writer.begin_array("$or");
        let by_fields = writer.begin_element(0);
        for field in elements(&fields).map_while(Result::ok) {
            writer.raw(field.kind, &in_copy(field.name), field.bytes);
        }
        writer.end(by_fields);
        let by_id = writer.begin_element(1);
        let range = writer.begin_document(&format!("{ID}.{ID_OF_DOCUMENT}"));
        writer.string("$gte", &prefix);
        writer.string("$lt", &format!("{prefix}{LAST}"));
        writer.end(range);
        writer.end(by_id);
        writer.end(any);
    });
    let mut projection = doc! { ID: 1 };
    let of_document = spec.keys().iter().map(|key| key.path);
    for path in of_document.chain([ID, spec.age_field(), &archived_path()]) {
        projection.insert(in_copy(path), 1);
    }
    FindPlan {
        filter,
        sort: doc! {},
        skip: 0,
        limit: 0,
        projection,
        hint: ID_INDEX.to_owned(),
        level: ReadLevel::Local,
    }
}

/// The read of all copies of a collection's buckets: of each only what says whose it is, and where its items are.
#[must_use]
pub fn copies_of_collection(spec: &BucketSpec) -> FindPlan {
    let mut projection = doc! { ID: 1 };
    let of_document = spec.keys().iter().map(|key| key.path);
    let others = [ID, spec.age_field(), spec.items(), SEALED];
    for path in of_document.chain(others) {
        projection.insert(in_copy(path), 1);
    }
    FindPlan {
        filter: RawWriter::build(|writer| {
            writer.document(ID, &of_collection(spec));
        }),
        sort: doc! {},
        skip: 0,
        limit: 0,
        projection,
        hint: ID_INDEX.to_owned(),
        level: ReadLevel::Local,
    }
}

/// The condition for the `_id` of a copy.
fn of_collection(spec: &BucketSpec) -> RawDocumentBuf {
    let first = doc! { COLLECTION: spec.collection() };
    let after = doc! { COLLECTION: spec.collection(), ID_OF_DOCUMENT: Bson::MaxKey };
    let of_collection = doc! { "$gte": first, "$lt": after };
    RawDocumentBuf::try_from(&of_collection).unwrap_or_default()
}

fn in_copy(path: &str) -> String {
    format!("{DOCUMENT}.{path}")
}

/// Whether a copy that was read by [`copies_of_key`] is one of a bucket of the key, as its key fields or its id say: if another
/// tool has changed the fields, the records are those of the key in the id.
///
/// ```
/// # use bson::RawDocument;
/// # use bucket_core::{Record, repair};
/// fn others<T: Record>(copy: &RawDocument, key: &T::Key) -> bool {
///     !repair::is_copy_of_key::<T>(copy, key)
/// }
/// ```
#[must_use]
pub fn is_copy_of_key<T: Record>(copy: &RawDocument, key: &T::Key) -> bool {
    let stored = copied_document(copy);
    let own = stored.and_then(|stored| key_of::<T>(stored).ok());
    if own.as_ref() == Some(key) {
        return true;
    }
    let prefix = id::prefix(T::SPEC, key);
    let of_copy = copy.get_document(ID).ok();
    match of_copy.and_then(|id| id.get(ID_OF_DOCUMENT).ok().flatten()) {
        // The id of another key may begin like that, too.
        Some(RawBsonRef::String(text)) if text.starts_with(&prefix) => {
            id::is_of_key(T::SPEC, text, &prefix)
        }
        // If they cannot be read, it was found by its key fields, as the server compares them.
        _ => own.is_none(),
    }
}

/// The bucket of a copy that was read by [`copies_of_key`], without its items, if these are in the archive.
///
/// ```
/// use bucket_core::repair;
///
/// let copy = bson::rawdoc! { "document": { "_sealed": { "archived": bson::DateTime::now() } } };
/// assert!(repair::copied_archived(&copy).is_some());
/// ```
#[must_use]
pub fn copied_archived(copy: &RawDocument) -> Option<&RawDocument> {
    copied_document(copy).filter(|stored| says_archived(stored))
}

/// The command that removes these copies from the quarantine.
///
/// ```
/// # use bson::RawDocumentBuf;
/// # use bucket_core::repair;
/// let copy = bson::rawdoc! { "_id": { "collection": "events", "id": "a_1", "number": 0 } };
/// let command = repair::remove_copies("events_quarantine", &[copy]);
/// assert!(command.get_str("delete").is_ok_and(|of| of == "events_quarantine"));
/// ```
#[must_use]
pub fn remove_copies(quarantine: &str, copies: &[RawDocumentBuf]) -> RawDocumentBuf {
    RawWriter::build(|writer| {
        writer.string("delete", quarantine);
        writer.bool("ordered", true);
        let deletes = writer.begin_array("deletes");
        for (index, copy) in copies.iter().enumerate() {
            let delete = writer.begin_element(index);
            let filter = writer.begin_document("q");
            for element in elements(copy).map_while(Result::ok) {
                if element.name == ID {
                    writer.raw(element.kind, ID, element.bytes);
                }
            }
            writer.end(filter);
            writer.int32("limit", 1);
            let collation = writer.begin_document("collation");
            writer.string("locale", SIMPLE);
            writer.end(collation);
            writer.end(delete);
        }
        writer.end(deletes);
    })
}
