//! Archived buckets: sealed ones whose packed items are in another collection.
//!
//! An archived bucket has all fields of a sealed one. In the place of its packed items it has a reference to them, as
//! binary data of the same subtype: so it is a sealed bucket for whatever does not ask for items, and for a release that
//! knows no archive it is one of a format that it does not know.
//!
//! ```text
//! reference = 0xA1           no version of packed columns has this number
//!             u32            the length of the packed items in bytes, little-endian
//!             16 bytes       the first ones of the SHA-256 of the packed items
//!             12 bytes       the `_id` of the copy in the archive, an object id
//!             byte, bytes    the BSON type and the value of the bucket's own `_id`
//! ```
//!
//! A copy is the bucket as it was sealed, with an `_id` of its own:
//!
//! ```json
//! { "_id": ObjectId(".."), "_bucket": { "id": "7_1698335223", "of": "sensors.readings" },
//!   "sensor_id": 7, "count": 200, "_sealed": { "first": .., "last": .. }, "items": Binary(128, "..") }
//! ```
//!
//! A reader replaces the reference by the packed items before it reads the bucket. Where the archive does not have them,
//! it replaces it by what it found instead, which is never stored.
//!
//! A bucket whose records have expired, and whose statistics are kept, has the one byte 0xA6 instead of any items.

use bson::{Document, RawDocument, RawDocumentBuf, doc, oid::ObjectId};
use sha2::{Digest, Sha256};

use crate::{
    codec::raw::{Element, RawWriter, elements},
    model::spec::ID,
};

/// The name of the index of an archive that leads to a key's copies.
pub(crate) const INDEX: &str = "archived_keys";

/// In a copy: its bucket.
pub const BUCKET: &str = "_bucket";
/// In it: the bucket's `_id`, and the names of its database and of its collection.
pub(crate) const BUCKET_ID: &str = "id";
pub(crate) const OF: &str = "of";

const REFERENCE: u8 = 0xA1;
/// The archive has no copy of the bucket.
const MISSING: u8 = 0xA2;
/// The archive has another one.
const DIFFERENT: u8 = 0xA3;
/// The bucket was removed after it was read.
const GONE: u8 = 0xA4;
/// The bucket was changed after it was read.
const CHANGED: u8 = 0xA5;
/// Its records have expired.
const EXPIRED: u8 = 0xA6;

/// What a bucket has in the place of its items once its records have expired, and only its statistics are kept.
pub(crate) const EXPIRED_ITEMS: &[u8] = &[EXPIRED];

/// The marker, the length and the digest.
const HEAD: usize = 1 + 4 + DIGEST;
const DIGEST: usize = 16;
/// The length of an object id.
const OBJECT_ID: i32 = 12;
/// Where the id of the bucket begins.
const ID_AT: usize = HEAD + 12;
/// What comes before the value of that id, for the server: with its type.
const BEFORE_ID: i32 = 34;

/// What binary data is, if it is no packed items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Instead<'a> {
    /// They are in the archive.
    Reference(Reference<'a>),
    /// The archive does not have them.
    Missing,
    /// The archive has others.
    Different,
    /// There are none any more.
    Gone,
    /// They are others by now.
    Changed,
    /// They have expired. This is stored.
    Expired,
}

impl<'a> Instead<'a> {
    pub(crate) fn read(packed: &'a [u8]) -> Option<Self> {
        Some(match *packed.first()? {
            REFERENCE => Self::Reference(Reference::read(packed)?),
            MISSING => Self::Missing,
            DIFFERENT => Self::Different,
            GONE => Self::Gone,
            CHANGED => Self::Changed,
            EXPIRED => Self::Expired,
            _ => return None,
        })
    }
}

/// What is wrong with a bucket that says that it is archived and has no reference.
pub(crate) const REPLACED: &str = "they are archived, and something else is in the place of the reference: the archive may have \
    them";

/// The size of the reference that a bucket has, in bytes, for the server.
pub(crate) fn size_of_reference() -> Document {
    let is_text = doc! { "$eq": [{ "$type": "$_id" }, "string"] };
    // Its length comes before a text, and a NUL after it.
    let text = doc! { "$add": [{ "$strLenBytes": "$_id" }, 5] };
    let id = doc! { "$cond": [is_text, text, OBJECT_ID] };
    doc! { "$add": [BEFORE_ID, id] }
}

/// Whether these bytes are a reference to the archive, or what is left of one.
pub(crate) fn is_reference(packed: &[u8]) -> bool {
    packed.first() == Some(&REFERENCE)
}

/// What an archive has instead of the items of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FromArchive<'a> {
    /// The packed items.
    Items(&'a [u8]),
    /// Nothing.
    Missing,
    /// Items that are not those of the reference.
    Different,
    /// The bucket has been removed since.
    Gone,
    /// The bucket has been restored and changed since.
    Changed,
}

impl<'a> FromArchive<'a> {
    pub(crate) const fn bytes(self) -> &'a [u8] {
        match self {
            Self::Items(packed) => packed,
            Self::Missing => &[MISSING],
            Self::Different => &[DIFFERENT],
            Self::Gone => &[GONE],
            Self::Changed => &[CHANGED],
        }
    }
}

/// Says which packed items a bucket had, and where its copy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reference<'a> {
    pub(crate) bytes: &'a [u8],
}

impl<'a> Reference<'a> {
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        // An `_id` has at least its type.
        let is_one = bytes.first() == Some(&REFERENCE) && bytes.len() > ID_AT;
        is_one.then_some(Self { bytes })
    }

    /// The `_id` of the copy.
    pub(crate) fn copy(self) -> ObjectId {
        let id = self
            .bytes
            .get(HEAD..ID_AT)
            .and_then(|id| id.try_into().ok());
        ObjectId::from_bytes(id.unwrap_or_default())
    }

    /// The type and the value of the bucket's `_id`.
    pub(crate) fn bucket(self) -> (u8, &'a [u8]) {
        let id = self.bytes.get(ID_AT..).unwrap_or_default();
        id.split_first()
            .map_or((0, &[]), |(kind, value)| (*kind, value))
    }

    /// The length of the packed items in bytes.
    pub(crate) fn length(self) -> usize {
        let length = self.bytes.get(1..5).and_then(|it| it.try_into().ok());
        let length = length.map_or(0, u32::from_le_bytes);
        usize::try_from(length).unwrap_or(usize::MAX)
    }

    /// Whether the other one is a reference to the same packed items.
    pub(crate) fn is_same_items(self, other: Reference<'_>) -> bool {
        self.bytes.get(..HEAD) == other.bytes.get(..HEAD)
    }

    /// Whether these are the packed items.
    pub(crate) fn is_of(self, packed: &[u8]) -> bool {
        self.bytes.get(1..HEAD) == Some(&head(packed)[1..])
    }
}

fn head(packed: &[u8]) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[0] = REFERENCE;
    // A document has at most 16 MB.
    let length = u32::try_from(packed.len()).unwrap_or(u32::MAX);
    head[1..5].copy_from_slice(&length.to_le_bytes());
    head[5..].copy_from_slice(&Sha256::digest(packed)[..DIGEST]);
    head
}

/// The reference to this copy of a bucket's packed items.
pub(crate) fn reference(stored: &RawDocument, packed: &[u8], copy: ObjectId) -> Option<Vec<u8>> {
    let id = id_of(stored)?;
    let mut reference = head(packed).to_vec();
    reference.extend_from_slice(&copy.bytes());
    reference.push(id.kind);
    reference.extend_from_slice(id.bytes);
    Some(reference)
}

pub(crate) fn id_of(stored: &RawDocument) -> Option<Element<'_>> {
    let mut all = elements(stored).map_while(Result::ok);
    all.find(|element| element.name == ID)
}

/// The copy of a sealed bucket, under this `_id`. `of` is the name of the database and of the collection.
pub(crate) fn copy(stored: &RawDocument, id: ObjectId, of: &str) -> RawDocumentBuf {
    let bytes = stored.as_bytes().len() + of.len() + 64;
    RawWriter::build_of(bytes, |writer| {
        writer.object_id(ID, id);
        let bucket = writer.begin_document(BUCKET);
        if let Some(id) = id_of(stored) {
            writer.raw(id.kind, BUCKET_ID, id.bytes);
        }
        writer.string(OF, of);
        writer.end(bucket);
        for element in elements(stored).map_while(Result::ok) {
            if element.name != ID {
                writer.raw(element.kind, element.name, element.bytes);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::rawdoc;

    const COPY: ObjectId = ObjectId::from_bytes([7; 12]);

    #[test]
    fn a_reference_knows_its_items_and_no_others() {
        let stored = rawdoc! { "_id": "a_1", "count": 2 };
        let reference = reference(&stored, b"packed", COPY).unwrap();
        let Some(Instead::Reference(read)) = Instead::read(&reference) else {
            panic!("no reference");
        };
        assert_eq!(read.length(), 6);
        assert!(read.is_of(b"packed"));
        assert!(!read.is_of(b"Packed") && !read.is_of(b"packed ") && !read.is_of(b""));
        assert_eq!(read.copy(), COPY);
        assert_eq!(read.bucket(), (2, &b"\x04\0\0\0a_1\0"[..]));
    }

    #[test]
    fn the_stored_form_of_an_archived_bucket_never_changes() {
        let stored = rawdoc! { "_id": "a_1" };
        let reference = reference(&stored, b"packed", COPY).unwrap();
        let digest = [
            0x88, 0xcb, 0x8a, 0x08, 0x7b, 0x6e, 0x8c, 0xeb, 0xfc, 0x9a, 0xe5, 0x60, 0x2f, 0x5a,
            0x21, 0x59,
        ];
        let expected = [
            &[0xa1, 6, 0, 0, 0][..],
            &digest,
            &[7; 12],
            &[0x02],
            b"\x04\0\0\0a_1\0",
        ];
        assert_eq!(reference, expected.concat());
    }

    #[test]
    fn the_stored_form_of_expired_items_never_changes() {
        assert_eq!(usize::try_from(BEFORE_ID), Ok(ID_AT + 1));
        assert_eq!(EXPIRED_ITEMS, [0xa6]);
        assert_eq!(Instead::read(EXPIRED_ITEMS), Some(Instead::Expired));
    }

    #[test]
    fn what_is_shorter_than_a_reference_is_none() {
        let stored = rawdoc! { "_id": null };
        let reference = reference(&stored, b"", COPY).unwrap();
        assert!(Instead::read(&reference).is_some());
        for end in 0..reference.len() {
            assert_eq!(Instead::read(&reference[..end]), None, "{end} bytes");
        }
    }

    #[test]
    fn packed_columns_are_never_taken_for_a_reference() {
        // Their versions count up from 1.
        for version in 1..REFERENCE {
            assert_eq!(Instead::read(&[version; 64]), None);
        }
    }

    #[test]
    fn a_copy_has_all_fields_of_the_bucket_and_its_id() {
        let stored = rawdoc! { "_id": 7, "sensor_id": 3, "_sealed": { "edit": {} }, "count": 1 };
        let copy = copy(&stored, COPY, "db.readings");
        let expected = rawdoc! {
            "_id": COPY, "_bucket": { "id": 7, "of": "db.readings" },
            "sensor_id": 3, "_sealed": { "edit": {} }, "count": 1,
        };
        assert_eq!(copy, expected);
    }
}
