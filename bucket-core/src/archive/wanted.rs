//! What a reader fetches from the archive, and puts into the rows that it has read.

use std::collections::HashMap;

use bson::{RawDocument, RawDocumentBuf};

use crate::{
    bucket::{
        archived::{FromArchive, Reference, id_of},
        sealed::{PACKED, packed},
    },
    codec::raw::{
        Element, RawWriter, elements,
        kind::{ARRAY, BINARY, DOCUMENT, OBJECT_ID},
    },
    model::spec::{BucketSpec, ID},
};

/// How deep a row can have packed items: at its top, in a document or in an array of them.
const LEVELS: usize = 2;
/// Before the bytes of binary data: their number and their subtype.
const BEFORE: usize = 5;

/// The archived items that rows refer to, and what was found of them.
///
/// First the archive is asked for the copies, then for those that are missing the collection itself, because the bucket may
/// have come back since the row was read.
///
/// ```
/// use bucket_core::archive::Wanted;
///
/// let mut wanted = Wanted::default();
/// wanted.add(&bson::rawdoc! { "_id": "a_1", "items": [] });
/// assert!(wanted.is_empty());
/// ```
#[derive(Debug, Default)]
pub struct Wanted {
    /// By reference.
    found: HashMap<Vec<u8>, Found>,
    bytes: usize,
}

/// What was found of a reference.
#[derive(Debug, Default)]
struct Found {
    items: Option<Vec<u8>>,
    /// The archive has other items under the id.
    has_other_copy: bool,
    /// Whether the bucket still refers to the archive; `None` if it is not there.
    refers: Option<bool>,
}

impl Found {
    fn outcome(&self) -> FromArchive<'_> {
        match (&self.items, self.refers) {
            (Some(items), _) => FromArchive::Items(items),
            (None, None) => FromArchive::Gone,
            (None, Some(false)) => FromArchive::Changed,
            (None, Some(true)) if self.has_other_copy => FromArchive::Different,
            (None, Some(true)) => FromArchive::Missing,
        }
    }
}

impl Wanted {
    /// Adds what a row refers to.
    pub fn add(&mut self, row: &RawDocument) {
        self.add_at(row, LEVELS);
    }

    fn add_at(&mut self, row: &RawDocument, levels: usize) {
        for element in elements(row).map_while(Result::ok) {
            if let Some(reference) = reference(element) {
                let length = reference.length().saturating_add(reference.bytes.len());
                if !self.found.contains_key(reference.bytes) {
                    self.found
                        .insert(reference.bytes.to_vec(), Found::default());
                    self.bytes = self.bytes.saturating_add(length);
                }
            } else if let Some(inner) = inner(element).filter(|_| levels > 0) {
                self.add_at(inner, levels - 1);
            }
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
        self.lacking().next().is_some()
    }

    fn lacking(&self) -> impl Iterator<Item = Reference<'_>> {
        let lacking = self.found.iter().filter(|(_, found)| found.items.is_none());
        lacking.filter_map(|(bytes, _)| Reference::read(bytes))
    }

    /// The filter for the copies in the archive.
    #[must_use]
    pub fn copies(&self) -> RawDocumentBuf {
        in_ids(self.lacking().map(|reference| {
            let id = reference.copy().bytes();
            (OBJECT_ID, id.to_vec())
        }))
    }

    /// The filter for the buckets whose items were not found in the archive.
    #[must_use]
    pub fn buckets(&self) -> RawDocumentBuf {
        in_ids(self.lacking().map(|reference| {
            let (kind, id) = reference.bucket();
            (kind, id.to_vec())
        }))
    }

    /// Takes a copy of the archive.
    pub fn take_copy(&mut self, spec: &BucketSpec, copy: &RawDocument) {
        let id = copy.get_object_id(ID).ok();
        let items = packed(spec.items(), copy);
        for (bytes, found) in &mut self.found {
            let of_id = Reference::read(bytes).filter(|it| Some(it.copy()) == id);
            if let Some(reference) = of_id {
                let items = items.filter(|items| reference.is_of(items));
                found.items = items.map(<[u8]>::to_vec);
                found.has_other_copy = items.is_none();
            }
        }
    }

    /// Takes a bucket of the collection itself, of all that [`buckets`](Self::buckets) finds there.
    pub fn take_bucket(&mut self, spec: &BucketSpec, stored: &RawDocument) {
        let Some(id) = id_of(stored) else {
            return;
        };
        let items = packed(spec.items(), stored);
        for (bytes, found) in &mut self.found {
            let of_id = Reference::read(bytes).filter(|it| it.bucket() == (id.kind, id.bytes));
            let Some(reference) = of_id.filter(|_| found.items.is_none()) else {
                continue;
            };
            found.refers = Some(items == Some(reference.bytes));
            found.items = items
                .filter(|items| reference.is_of(items))
                .map(<[u8]>::to_vec);
        }
    }

    /// A row with what was found. `None` if it is a bucket that was removed since.
    #[must_use]
    pub fn fill(&self, row: &RawDocument) -> Option<RawDocumentBuf> {
        let at_top = elements(row).map_while(Result::ok).filter_map(reference);
        let mut found = at_top.filter_map(|reference| self.of(reference));
        if found.any(|found| found == FromArchive::Gone) {
            return None;
        }
        let bytes = row.as_bytes().len() + self.bytes;
        Some(RawWriter::build_of(bytes, |writer| {
            self.write(row, LEVELS, writer);
        }))
    }

    fn of(&self, reference: Reference<'_>) -> Option<FromArchive<'_>> {
        self.found.get(reference.bytes).map(Found::outcome)
    }

    fn write(&self, row: &RawDocument, levels: usize, writer: &mut RawWriter) {
        for element in elements(row).map_while(Result::ok) {
            if let Some(found) = reference(element).and_then(|reference| self.of(reference)) {
                writer.binary(element.name, PACKED, found.bytes());
            } else if let Some(inner) = inner(element).filter(|_| levels > 0) {
                let mark = if element.is_array() {
                    writer.begin_array(element.name)
                } else {
                    writer.begin_document(element.name)
                };
                self.write(inner, levels - 1, writer);
                writer.end(mark);
            } else {
                writer.raw(element.kind, element.name, element.bytes);
            }
        }
    }
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

/// What a field holds that may have references in it: a document, or an array of binary data. The items of a bucket are
/// an array of documents, and are passed over.
fn inner(element: Element<'_>) -> Option<&RawDocument> {
    let inner = match element.kind {
        DOCUMENT | ARRAY => RawDocument::from_bytes(element.bytes).ok()?,
        _ => return None,
    };
    let first = || elements(inner).next()?.ok();
    match element.kind {
        ARRAY if first()?.kind != BINARY => None,
        _ => Some(inner),
    }
}
