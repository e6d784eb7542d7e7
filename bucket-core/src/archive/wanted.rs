//! What a reader fetches from the archive, and puts into the rows that it has read.

use std::collections::HashMap;

use bson::{RawBsonRef, RawDocument, RawDocumentBuf, oid::ObjectId};

use crate::{
    bucket::{
        archived::{FromArchive, Reference, id_of},
        packed::pack,
        sealed::{ASIDE, PACKED, packed},
    },
    codec::raw::{
        Element, RawWriter, elements,
        kind::{ARRAY, BINARY, DOCUMENT, OBJECT_ID},
    },
    model::{
        size::MAX_DOCUMENT_BYTES,
        spec::{BucketSpec, ID},
    },
    read::{CUTS, IN_NEWEST, NEWEST},
};

/// Before the bytes of binary data: their number and their subtype.
const BEFORE: usize = 5;

/// What the rows of a read are. It says where they have packed items: binary data at any other place is the user's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum InRow {
    /// Buckets, or some of their fields.
    #[default]
    Bucket,
    /// Results of the aggregations of this crate.
    Result,
}

/// The archived items that rows refer to, and what was found of them.
///
/// First the archive is asked for the copies, then for those that are missing the collection itself, because the bucket may
/// have come back since the row was read. It may also be in the archive again by then, under another id
/// ([`has_moved`](Self::has_moved)): then both are asked once more.
///
/// ```
/// use bucket_core::{BucketSpec, archive::{InRow, Wanted}};
///
/// fn refers_to_nothing(spec: &'static BucketSpec) {
///     let mut wanted = Wanted::of(spec, InRow::Bucket);
///     wanted.add(&bson::rawdoc! { "_id": "a_1", "items": [] });
///     assert!(wanted.is_empty());
/// }
/// ```
#[derive(Debug)]
pub struct Wanted {
    spec: &'static BucketSpec,
    rows: InRow,
    /// By reference.
    found: HashMap<Vec<u8>, Found>,
    bytes: usize,
}

/// What was found of a reference.
#[derive(Debug)]
struct Found {
    items: Option<Vec<u8>>,
    /// The copy to look for.
    copy: ObjectId,
    /// The archive has other items under the id.
    has_other_copy: bool,
    bucket: Now,
}

/// What the collection says of a bucket whose copy is not in the archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Now {
    NotThere,
    /// It refers to the copy that is missing.
    Refers,
    /// It refers to another copy of the same items.
    Moved,
    /// It has other items.
    Changed,
}

impl Found {
    fn outcome(&self) -> FromArchive<'_> {
        match (&self.items, self.bucket) {
            (Some(items), _) => FromArchive::Items(items),
            (None, Now::NotThere) => FromArchive::Gone,
            (None, Now::Moved | Now::Changed) => FromArchive::Changed,
            (None, Now::Refers) if self.has_other_copy => FromArchive::Different,
            (None, Now::Refers) => FromArchive::Missing,
        }
    }
}

impl Wanted {
    /// Of rows of a read.
    #[must_use]
    pub fn of(spec: &'static BucketSpec, rows: InRow) -> Self {
        Self {
            spec,
            rows,
            found: HashMap::new(),
            bytes: 0,
        }
    }

    /// Adds what a row refers to.
    pub fn add(&mut self, row: &RawDocument) {
        let mut new = Vec::new();
        self.each_reference(row, |reference| new.push(reference));
        for reference in new {
            let length = reference.length().saturating_add(reference.bytes.len());
            if !self.found.contains_key(reference.bytes) {
                let found = Found {
                    items: None,
                    copy: reference.copy(),
                    has_other_copy: false,
                    bucket: Now::NotThere,
                };
                self.found.insert(reference.bytes.to_vec(), found);
                self.bytes = self.bytes.saturating_add(length);
            }
        }
    }

    fn each_reference<'r>(&self, row: &'r RawDocument, mut each: impl FnMut(Reference<'r>)) {
        for element in elements(row).map_while(Result::ok) {
            match self.place(element) {
                Place::Items => reference(element).into_iter().for_each(&mut each),
                Place::Inside(inner) => {
                    let inner = elements(inner).map_while(Result::ok);
                    let places = inner.filter(|it| is_inside(element, *it));
                    places.filter_map(reference).for_each(&mut each);
                }
                Place::Other => {}
            }
        }
    }

    fn place<'e>(&self, element: Element<'e>) -> Place<'e> {
        let inner = || RawDocument::from_bytes(element.bytes).map_or(Place::Other, Place::Inside);
        match self.rows {
            InRow::Bucket if element.name == self.spec.items() || element.name == ASIDE => {
                Place::Items
            }
            InRow::Result if element.name == NEWEST && element.kind == DOCUMENT => inner(),
            InRow::Result if CUTS.contains(&element.name) && element.kind == ARRAY => inner(),
            _ => Place::Other,
        }
    }

    /// Whether the rows refer to nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The size of what is wanted, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether something was not found.
    #[must_use]
    pub fn lacks_any(&self) -> bool {
        self.found.values().any(|found| found.items.is_none())
    }

    /// Whether some of what was not found is in the archive again, under another id.
    #[must_use]
    pub fn has_moved(&self) -> bool {
        let mut all = self.found.values();
        all.any(|found| found.items.is_none() && found.bucket == Now::Moved)
    }

    /// Whether the items of some buckets have been changed since the rows were read.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        let is_changed = |it: &Found| it.outcome() == FromArchive::Changed;
        self.found.values().any(is_changed)
    }

    /// Whether some buckets have been removed since the rows were read.
    #[must_use]
    pub fn has_gone(&self) -> bool {
        let is_gone = |it: &Found| it.outcome() == FromArchive::Gone;
        self.found.values().any(is_gone)
    }

    /// The ids of the copies in the archive.
    #[must_use]
    pub fn copy_ids(&self) -> Vec<ObjectId> {
        let lacking = self.found.values().filter(|found| found.items.is_none());
        lacking.map(|found| found.copy).collect()
    }

    /// The filter for the copies in the archive.
    #[must_use]
    pub fn copies(&self) -> RawDocumentBuf {
        let ids = self.copy_ids().into_iter();
        in_ids(ids.map(|id| (OBJECT_ID, id.bytes().to_vec())))
    }

    /// The filter for the buckets whose items were not found in the archive. What was known of them is forgotten.
    #[must_use]
    pub fn buckets(&mut self) -> RawDocumentBuf {
        let mut ids = Vec::new();
        for (bytes, found) in &mut self.found {
            if let Some(reference) = Reference::read(bytes).filter(|_| found.items.is_none()) {
                found.bucket = Now::NotThere;
                let (kind, id) = reference.bucket();
                ids.push((kind, id.to_vec()));
            }
        }
        in_ids(ids.into_iter())
    }

    /// Takes a copy of the archive.
    pub fn take_copy(&mut self, copy: &RawDocument) {
        let id = copy.get_object_id(ID).ok();
        let items = packed(self.spec.items(), copy);
        for (bytes, found) in &mut self.found {
            let of_id = Reference::read(bytes).filter(|_| Some(found.copy) == id);
            if let Some(reference) = of_id {
                let items = items.filter(|items| reference.is_of(items));
                found.items = items.map(<[u8]>::to_vec);
                found.has_other_copy = items.is_none();
            }
        }
    }

    /// Takes a bucket of the collection itself, of all that [`buckets`](Self::buckets) finds there.
    pub fn take_bucket(&mut self, stored: &RawDocument) {
        let Some(id) = id_of(stored) else {
            return;
        };
        let items = packed(self.spec.items(), stored);
        for (bytes, found) in &mut self.found {
            let of_id = Reference::read(bytes).filter(|it| it.bucket() == (id.kind, id.bytes));
            let Some(reference) = of_id.filter(|_| found.items.is_none()) else {
                continue;
            };
            found.bucket = Now::Changed;
            match items.map(|items| (items, Reference::read(items))) {
                Some((_, Some(now))) if now.is_same_items(reference) => {
                    found.bucket = if now.copy() == found.copy {
                        Now::Refers
                    } else {
                        Now::Moved
                    };
                    found.copy = now.copy();
                }
                Some((items, None)) if reference.is_of(items) => found.items = Some(items.to_vec()),
                Some(_) => {}
                None => {
                    let rows = packed_rows(self.spec, stored);
                    found.items = rows.filter(|rows| reference.is_of(rows));
                }
            }
        }
    }

    /// A row with what was found. `None` if it is a bucket that was removed since.
    #[must_use]
    pub fn fill(&self, row: &RawDocument) -> Option<RawDocumentBuf> {
        let mut is_gone = false;
        if self.rows == InRow::Bucket {
            self.each_reference(row, |it| {
                is_gone |= self.outcome(it) == Some(FromArchive::Gone);
            });
        }
        if is_gone {
            return None;
        }
        let mut bytes = row.as_bytes().len();
        self.each_reference(row, |it| bytes = bytes.saturating_add(it.length()));
        // What the row says of lengths may be wrong.
        Some(RawWriter::build_of(
            bytes.min(MAX_DOCUMENT_BYTES),
            |writer| {
                for element in elements(row).map_while(Result::ok) {
                    match self.place(element) {
                        Place::Items => self.write(element, writer),
                        Place::Inside(inner) => {
                            let mark = if element.is_array() {
                                writer.begin_array(element.name)
                            } else {
                                writer.begin_document(element.name)
                            };
                            for inner in elements(inner).map_while(Result::ok) {
                                if is_inside(element, inner) {
                                    self.write(inner, writer);
                                } else {
                                    writer.raw(inner.kind, inner.name, inner.bytes);
                                }
                            }
                            writer.end(mark);
                        }
                        Place::Other => writer.raw(element.kind, element.name, element.bytes),
                    }
                }
            },
        ))
    }

    fn outcome(&self, reference: Reference<'_>) -> Option<FromArchive<'_>> {
        self.found.get(reference.bytes).map(Found::outcome)
    }

    fn write(&self, element: Element<'_>, writer: &mut RawWriter) {
        match reference(element).and_then(|reference| self.outcome(reference)) {
            Some(found) => writer.binary(element.name, PACKED, found.bytes()),
            None => writer.raw(element.kind, element.name, element.bytes),
        }
    }
}

/// What a field of a row is.
enum Place<'e> {
    /// The items of a bucket.
    Items,
    /// It has items in it.
    Inside(&'e RawDocument),
    Other,
}

/// Whether an element of a field that is [`Place::Inside`] is the items of a bucket: in an array all are.
fn is_inside(field: Element<'_>, element: Element<'_>) -> bool {
    field.is_array() || element.name == IN_NEWEST
}

/// The filter for documents with these `_id`s.
fn in_ids(ids: impl Iterator<Item = (u8, Vec<u8>)>) -> RawDocumentBuf {
    RawWriter::build(|writer| {
        let id = writer.begin_document(ID);
        let any = writer.begin_array("$in");
        for (index, (kind, value)) in ids.enumerate() {
            writer.raw_element(index, kind, &value);
        }
        writer.end(any);
        writer.end(id);
    })
}

/// The reference that a field is.
fn reference(element: Element<'_>) -> Option<Reference<'_>> {
    if element.kind != BINARY || element.bytes.get(BEFORE - 1) != Some(&u8::from(PACKED)) {
        return None;
    }
    Reference::read(element.bytes.get(BEFORE..)?)
}

/// The rows of a bucket, packed as when it was sealed.
fn packed_rows(spec: &BucketSpec, stored: &RawDocument) -> Option<Vec<u8>> {
    let Ok(Some(RawBsonRef::Array(rows))) = stored.get(spec.items()) else {
        return None;
    };
    let rows = rows.into_iter().map(|row| row.ok()?.as_document());
    pack(rows.collect::<Option<Vec<_>>>()?)
}
