//! The files of an archive in an object store.
//!
//! A file has copies of buckets of one key. It is written once, read in parts, and no part of it is removed by itself.
//!
//! ```text
//! file   = header, copy, copy, ..
//! header = { "format": "bucket-archive", "version": 1, "of": "sensors.readings", "uuid": UUID(".."), "at": Date(..),
//!            "copies": 100, "key": { "sensor_id": 7 } }
//! copy   = what an archive in a collection has as a document
//! ```
//!
//! All are BSON documents, which begin with their length. The object id of a copy says where it is:
//!
//! ```text
//! object id = 3 bytes    the first ones of the SHA-256 of the elements of `key` and then of the text `of`
//!             6 bytes    random, for each file
//!             3 bytes    where the copy begins in the file, in bytes, big-endian
//! path      = PREFIX/digest/file.buckets, both in lower-case hexadecimal: 6 and 18 digits
//! ```
//!
//! In `key`, integers are those of 64 bits, whatever the model has.
//!
//! So a reader needs only the reference of the bucket, and a removal of a key looks into the files of one folder.

use std::{collections::BTreeMap, fmt::Write, ops::Range};

use bson::{
    DateTime, RawBsonRef, RawDocument, RawDocumentBuf, Uuid, oid::ObjectId, spec::BinarySubtype,
};
use sha2::{Digest, Sha256};

use crate::{
    bucket::{archived::OF, key_of, record::Record},
    codec::raw::{RawWriter, elements, kind::INT32},
    model::spec::ID,
    read::key_elements,
};

const FORMAT: &str = "format";
const BUCKET_ARCHIVE: &str = "bucket-archive";
const VERSION: &str = "version";
/// The version of the format that this release writes.
pub const FILE_VERSION: i32 = 1;
const UUID: &str = "uuid";
const AT: &str = "at";
const COPIES: &str = "copies";
const KEY: &str = "key";

const DIGEST: usize = 3;
const NAME: usize = 9;
/// Where a copy may begin at most: a file that is longer takes no more copies.
const LARGEST: usize = 8 * 1024 * 1024;

/// The name of a file, which the ids of its copies begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileName([u8; NAME]);

impl FileName {
    /// The file that has this copy.
    #[must_use]
    pub fn of(copy: ObjectId) -> Self {
        let bytes = copy.bytes();
        let mut name = [0; NAME];
        name.copy_from_slice(&bytes[..NAME]);
        Self(name)
    }

    /// Its path below the archive's.
    #[must_use]
    pub fn path(self) -> String {
        format!("{}/{}.buckets", self.folder(), hex(&self.0))
    }

    /// The folder that it is in.
    #[must_use]
    pub fn folder(self) -> String {
        hex(&self.0[..DIGEST])
    }

    /// The name of the file with this last part of a path; `None` if it is none of an archive.
    #[must_use]
    pub fn read(file: &str) -> Option<Self> {
        let digits = file.strip_suffix(".buckets")?;
        let is_hex = |digit: u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit);
        if digits.len() != 2 * NAME || !digits.bytes().all(is_hex) {
            return None;
        }
        let mut name = [0; NAME];
        for (byte, digits) in name.iter_mut().zip(digits.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
        }
        Some(Self(name))
    }

    fn copy_at(self, at: usize) -> ObjectId {
        let mut id = [0; 12];
        id[..NAME].copy_from_slice(&self.0);
        // It is at most `LARGEST`.
        let at = u32::try_from(at).unwrap_or(u32::MAX).to_be_bytes();
        id[NAME..].copy_from_slice(&at[1..]);
        ObjectId::from_bytes(id)
    }
}

/// Where a copy begins in its file.
#[must_use]
pub fn begin_of(copy: ObjectId) -> usize {
    let bytes = copy.bytes();
    bytes[NAME..]
        .iter()
        .fold(0, |at, byte| (at << 8) | usize::from(*byte))
}

/// The folder of the files with the copies of a key's buckets, below the archive's path. Others may be there, too.
#[must_use]
pub fn folder_of_key<T: Record>(key: &T::Key, of: &str) -> String {
    hex(&digest(&elements_of::<T>(key), of))
}

/// The elements of a key, the same whether its integers have 32 or 64 bits: a model may widen them.
fn elements_of<T: Record>(key: &T::Key) -> Vec<u8> {
    let key = RawWriter::build(|writer| writer.elements(&key_elements::<T>(key)));
    let mut writer = RawWriter::default();
    for element in elements(&key).map_while(Result::ok) {
        match element.bytes.try_into().map(i32::from_le_bytes) {
            Ok(number) if element.kind == INT32 => writer.int64(element.name, number.into()),
            _ => writer.raw(element.kind, element.name, element.bytes),
        }
    }
    writer.into_bytes()
}

/// The collection whose buckets a file has copies of.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Owner {
    /// The names of its database and of itself.
    pub of: String,
    /// What tells it from others of these names: in another cluster, or of another time. `None` if the server does not say it.
    pub uuid: Option<Uuid>,
}

impl Owner {
    /// The collection with these names.
    #[must_use]
    pub fn new(of: String, uuid: Option<Uuid>) -> Self {
        Self { of, uuid }
    }
}

/// The folder with the copies of a stored bucket; `None` if its key is none of the model.
#[must_use]
pub fn folder_of<T: Record>(stored: &RawDocument, of: &str) -> Option<String> {
    Some(folder_of_key::<T>(&key_of::<T>(stored).ok()?, of))
}

/// What a file says of itself.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FileHeader {
    /// The collection whose buckets it has copies of.
    pub owner: Owner,
    /// When it was written.
    pub at: DateTime,
    /// The number of its copies.
    pub copies: u64,
    key: RawDocumentBuf,
}

impl FileHeader {
    /// Reads it; `None` if this is no file of an archive, or one of a later version.
    #[must_use]
    pub fn read(document: &RawDocument) -> Option<Self> {
        let is_one = document
            .get_str(FORMAT)
            .is_ok_and(|format| format == BUCKET_ARCHIVE)
            && document
                .get_i32(VERSION)
                .is_ok_and(|version| version == FILE_VERSION);
        is_one.then_some(())?;
        Some(Self {
            owner: Owner {
                of: document.get_str(OF).ok()?.to_owned(),
                uuid: match document.get(UUID).ok()? {
                    Some(RawBsonRef::Binary(uuid)) => Some(uuid.to_binary().to_uuid().ok()?),
                    _ => None,
                },
            },
            at: document.get_datetime(AT).ok()?,
            copies: u64::try_from(document.get_i32(COPIES).ok()?).ok()?,
            key: document.get_document(KEY).ok()?.to_owned(),
        })
    }

    /// Whether its copies are those of buckets of this key.
    #[must_use]
    pub fn is_of_key<T: Record>(&self, key: &T::Key) -> bool {
        self.key == RawWriter::build(|writer| writer.elements(&elements_of::<T>(key)))
    }

    fn write(key: &[u8], owner: &Owner, at: DateTime, copies: i32) -> RawDocumentBuf {
        RawWriter::build(|writer| {
            writer.string(FORMAT, BUCKET_ARCHIVE);
            writer.int32(VERSION, FILE_VERSION);
            writer.string(OF, &owner.of);
            if let Some(uuid) = owner.uuid {
                writer.binary(UUID, BinarySubtype::Uuid, &uuid.bytes());
            }
            writer.date(AT, at.timestamp_millis());
            // Whatever its value, it takes the same space: the copies after it know where they are.
            writer.int32(COPIES, copies);
            let inner = writer.begin_document(KEY);
            writer.elements(key);
            writer.end(inner);
        })
    }
}

/// A file to be written.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct NewFile {
    /// Its name.
    pub name: FileName,
    /// All of it.
    pub bytes: Vec<u8>,
}

/// Puts copies together, those of a key in the order in which they come.
#[derive(Debug)]
pub struct NewFiles {
    owner: Owner,
    at: DateTime,
    done: Vec<NewFile>,
    /// The one that takes the next copy.
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    name: FileName,
    key: Vec<u8>,
    bytes: Vec<u8>,
    copies: i32,
}

impl NewFiles {
    /// For copies of buckets of this collection, at this time of the server.
    #[must_use]
    pub fn new(owner: Owner, at: DateTime) -> Self {
        Self {
            owner,
            at,
            done: Vec::new(),
            open: None,
        }
    }

    /// When they were begun, by the clock of the server.
    #[must_use]
    pub fn at(&self) -> DateTime {
        self.at
    }

    /// The id for the copy of a bucket, which is the next one that is added; `None` if its key is none of the model, so that there
    /// will be no copy. `random` is for a new file.
    pub fn id_of<T: Record>(
        &mut self,
        stored: &RawDocument,
        random: impl FnOnce() -> [u8; NAME - DIGEST],
    ) -> Option<ObjectId> {
        let key = elements_of::<T>(&key_of::<T>(stored).ok()?);
        let takes_it = |open: &Open| open.key == key && open.bytes.len() <= LARGEST;
        if !self.open.as_ref().is_some_and(takes_it) {
            self.close();
        }
        let open = self.open.get_or_insert_with(|| {
            let mut name = [0; NAME];
            name[..DIGEST].copy_from_slice(&digest(&key, &self.owner.of));
            name[DIGEST..].copy_from_slice(&random());
            Open {
                name: FileName(name),
                bytes: FileHeader::write(&key, &self.owner, self.at, 0).into_bytes(),
                key,
                copies: 0,
            }
        });
        Some(open.name.copy_at(open.bytes.len()))
    }

    /// Adds the copy that has the last id.
    pub fn add(&mut self, copy: &RawDocument) {
        if let Some(open) = &mut self.open {
            open.bytes.extend_from_slice(copy.as_bytes());
            open.copies = open.copies.saturating_add(1);
        }
    }

    /// The files with all copies.
    #[must_use]
    pub fn finish(mut self) -> Vec<NewFile> {
        self.close();
        self.done
    }

    fn close(&mut self) {
        let Some(open) = self.open.take().filter(|open| open.copies > 0) else {
            return;
        };
        let header = FileHeader::write(&open.key, &self.owner, self.at, open.copies);
        let mut bytes = open.bytes;
        bytes[..header.as_bytes().len()].copy_from_slice(header.as_bytes());
        self.done.push(NewFile {
            name: open.name,
            bytes,
        });
    }
}

/// The parts of a file that have copies, each with the copies that begin there. Copies that are near each other are read
/// together. A part may end before its last copy does.
#[must_use]
pub fn parts(copies: impl IntoIterator<Item = ObjectId>) -> Vec<(Range<usize>, Vec<ObjectId>)> {
    let mut parts: Vec<(Range<usize>, Vec<ObjectId>)> = Vec::new();
    let ids: BTreeMap<usize, ObjectId> = copies.into_iter().map(|id| (begin_of(id), id)).collect();
    for (at, id) in ids {
        let end = at + NEAR;
        match parts.last_mut() {
            Some((part, ids)) if at < part.end => {
                part.end = end;
                ids.push(id);
            }
            _ => parts.push((at..end, vec![id])),
        }
    }
    parts
}

/// How much is read of a file for a copy, as long as its length is not known.
const NEAR: usize = 64 * 1024;

/// The copy with this id at the begin of these bytes of its file.
///
/// # Errors
///
/// Its whole length, if they are not all of it.
pub fn copy_in(bytes: &[u8], id: ObjectId) -> Result<Option<&RawDocument>, usize> {
    let Some(copy) = document_in(bytes)? else {
        return Ok(None);
    };
    Ok((copy.get_object_id(ID).is_ok_and(|of_copy| of_copy == id)).then_some(copy))
}

/// The document at the begin of these bytes of a file; `None` if there is none.
///
/// # Errors
///
/// Its whole length, if they are not all of it.
pub fn document_in(bytes: &[u8]) -> Result<Option<&RawDocument>, usize> {
    let length = bytes
        .first_chunk()
        .map(|length| i32::from_le_bytes(*length));
    let Some(length) = length.and_then(|length| usize::try_from(length).ok()) else {
        return Ok(None);
    };
    match bytes.get(..length) {
        Some(document) => Ok(RawDocument::from_bytes(document).ok()),
        None => Err(length),
    }
}

fn digest(key: &[u8], of: &str) -> [u8; DIGEST] {
    let all = Sha256::new_with_prefix(key).chain_update(of).finalize();
    let mut digest = [0; DIGEST];
    digest.copy_from_slice(&all[..DIGEST]);
    digest
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut hex, byte| {
        // Writing to a text never fails.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use bson::rawdoc;

    use super::*;

    const AT: i64 = 1_700_000_000_000;

    fn name(last: u8) -> FileName {
        FileName([1, 2, 3, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, last])
    }

    #[test]
    fn the_stored_form_of_a_file_never_changes() {
        let key = RawWriter::build(|writer| writer.string("device", "a"));
        let key = &key.as_bytes()[4..key.as_bytes().len() - 1];
        assert_eq!(hex(&digest(key, "db.events")), "2d5cfb");
        let uuid = Uuid::from_bytes([7; 16]);
        let owner = Owner::new("db.events".to_owned(), Some(uuid));
        let header = FileHeader::write(key, &owner, DateTime::from_millis(AT), 3);
        assert_eq!(FileHeader::read(&header).unwrap().owner, owner);
        let expected = rawdoc! {
            "format": "bucket-archive", "version": 1, "of": "db.events", "uuid": bson::Binary::from(uuid), "at": DateTime::from_millis(AT), "copies": 3,
            "key": { "device": "a" },
        };
        assert_eq!(header, expected);
        let id = name(0xff).copy_at(0x0001_0203);
        assert_eq!(id.to_hex(), "010203aabbccddeeff010203");
        assert_eq!((FileName::of(id), begin_of(id)), (name(0xff), 0x0001_0203));
        assert_eq!(name(0xff).path(), "010203/010203aabbccddeeff.buckets");
    }

    #[test]
    fn a_name_is_read_from_its_path_and_from_nothing_else() {
        let path = name(7).path();
        let file = path.split_once('/').unwrap().1;
        assert_eq!(FileName::read(file), Some(name(7)));
        for other in [
            "",
            ".buckets",
            "x.buckets",
            &file[1..],
            &file.to_uppercase(),
            &format!("0{file}"),
        ] {
            assert_eq!(FileName::read(other), None, "{other}");
        }
        assert_eq!(FileName::read("é02030aabbccddeef.buckets"), None);
    }

    #[test]
    fn a_later_version_is_no_file_that_is_known() {
        let mut header = rawdoc! { "format": "bucket-archive", "version": 1, "of": "a.b", "at": DateTime::now(), "copies": 1,
        "key": {} };
        assert!(FileHeader::read(&header).is_some());
        header.append(bson::cstr!("more"), 1);
        assert!(FileHeader::read(&header).is_some());
        for other in [
            rawdoc! { "format": "bucket-archive", "version": 2, "of": "a.b", "at": DateTime::now(), "copies": 1, "key": {} },
            rawdoc! { "format": "bucket", "version": 1, "of": "a.b", "at": DateTime::now(), "copies": 1, "key": {} },
            rawdoc! { "format": "bucket-archive", "version": 1, "of": "a.b", "at": DateTime::now(), "copies": -1, "key": {} },
            rawdoc! {},
        ] {
            assert_eq!(FileHeader::read(&other), None);
        }
    }

    #[test]
    fn copies_that_are_near_each_other_are_read_together() {
        let at = |at: usize| name(1).copy_at(at);
        let parts = parts([at(900_000), at(100), at(20_000), at(100 + NEAR), at(84_000)]);
        let begins: Vec<(usize, usize, usize)> = parts
            .iter()
            .map(|(part, ids)| (part.start, part.end, ids.len()))
            .collect();
        assert_eq!(
            begins,
            [(100, 84_000 + NEAR, 4), (900_000, 900_000 + NEAR, 1)]
        );
    }

    #[test]
    fn no_bytes_are_taken_for_a_document_that_is_not_there() {
        let copy = rawdoc! { "_id": name(1).copy_at(9), "count": 1 };
        let bytes = copy.as_bytes();
        assert_eq!(copy_in(bytes, name(1).copy_at(9)), Ok(Some(&*copy)));
        assert_eq!(copy_in(bytes, name(1).copy_at(8)), Ok(None));
        for end in 0..bytes.len() {
            let expected = if end < 4 { Ok(None) } else { Err(bytes.len()) };
            assert_eq!(document_in(&bytes[..end]), expected, "{end}");
        }
        assert_eq!(document_in(&[0xff; 64]), Ok(None));
        assert_eq!(document_in(&[0; 64]), Ok(None));
    }
}
