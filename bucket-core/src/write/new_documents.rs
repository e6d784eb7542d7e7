//! Documents on their way into a collection: what is in their commands.
//!
//! What a reply says of each is in `replies`.

mod replies;

use bson::{Bson, RawBsonRef, RawDocument, RawDocumentBuf, oid::ObjectId};

pub use self::replies::StoredDocuments;
use crate::{
    attribute::{Attributed, DocumentError, DocumentFault, encode},
    codec::raw::{RawWriter, printed_id},
    model::{size::MAX_COMMAND_BYTES, spec::ID},
};

/// The largest document that the server stores, in bytes.
const MAX_DOCUMENT_BYTES: usize = 16 * 1024 * 1024;
/// The largest number of documents in one command.
const MAX_DOCUMENTS: usize = 5_000;
/// The most bytes of a reply that refuses every document: far below the largest reply.
const MAX_REPLY_BYTES: usize = 8 * 1024 * 1024;
/// The bytes of a refusal in a reply, besides the `_id`, which appears twice.
const REFUSAL_BYTES: usize = 512;

/// The stored form of a new document. It has an `_id`, so that no repetition of its command stores it twice.
///
/// ```
/// # use bucket_core::{attribute::{Attributed, DocumentError}, write::NewDocument};
/// # use bson::oid::ObjectId;
/// fn new<T: Attributed>(document: &T, id: ObjectId) -> Result<NewDocument, DocumentError> {
///     NewDocument::encode(document, || id)
/// }
/// ```
#[derive(Debug, Clone)]
pub struct NewDocument {
    stored: RawDocumentBuf,
    /// The `_id` was generated for it, so that no other document has it.
    has_new_id: bool,
}

impl NewDocument {
    /// Encodes a document; if it has no `_id`, it receives this one.
    ///
    /// # Errors
    ///
    /// [`DocumentError`] if it cannot be [encoded](encode), or is larger than the server stores.
    pub fn encode<T: Attributed>(
        document: &T,
        new_id: impl FnOnce() -> ObjectId,
    ) -> Result<Self, DocumentError> {
        let stored = encode(document)?;
        let has_id = matches!(stored.get(ID), Ok(Some(_)));
        let stored = if has_id {
            stored
        } else {
            RawWriter::build(|writer| {
                writer.object_id(ID, new_id());
                writer.elements(elements_of(&stored));
            })
        };
        let bytes = stored.as_bytes().len();
        if bytes > MAX_DOCUMENT_BYTES {
            return Err(DocumentError {
                id: Some(printed_id(&stored)),
                is_stored: false,
                fault: DocumentFault::TooLarge {
                    bytes,
                    limit: MAX_DOCUMENT_BYTES,
                },
            });
        }
        Ok(Self {
            stored,
            has_new_id: !has_id,
        })
    }

    /// Its `_id`.
    #[must_use]
    pub fn id(&self) -> Bson {
        let id = self.stored.get(ID).ok().flatten();
        id.and_then(|id| Bson::try_from(id).ok())
            .unwrap_or(Bson::Null)
    }

    /// Its `_id` as text for messages.
    #[must_use]
    pub fn id_text(&self) -> String {
        printed_id(&self.stored)
    }

    fn reply_bytes(&self) -> usize {
        let id = match self.stored.get(ID) {
            Ok(Some(RawBsonRef::Document(id))) => id.as_bytes().len(),
            Ok(Some(RawBsonRef::String(id))) => id.len(),
            Ok(Some(RawBsonRef::Binary(id))) => id.bytes.len(),
            _ => 0,
        };
        // In the message each byte of the `_id` may take six.
        REFUSAL_BYTES + 8 * id
    }
}

/// The elements of a document, without its frame.
fn elements_of(document: &RawDocument) -> &[u8] {
    let bytes = document.as_bytes();
    bytes
        .get(4..bytes.len().saturating_sub(1))
        .unwrap_or_default()
}

/// New documents of one `insert` command, each with its index in the call.
///
/// A document that the server refuses does not stop the others.
#[derive(Debug, Clone, Default)]
pub struct NewDocuments {
    documents: Vec<(usize, NewDocument)>,
    bytes: usize,
    reply_bytes: usize,
}

impl NewDocuments {
    /// Adds a document, unless the command is full; the first one always fits.
    ///
    /// # Errors
    ///
    /// The document, for the next command.
    pub fn push(&mut self, index: usize, document: NewDocument) -> Result<(), NewDocument> {
        let bytes = self.bytes + document.stored.as_bytes().len() + 16;
        let reply_bytes = self.reply_bytes + document.reply_bytes();
        let is_full = bytes > MAX_COMMAND_BYTES
            || reply_bytes > MAX_REPLY_BYTES
            || self.documents.len() >= MAX_DOCUMENTS;
        if is_full && !self.documents.is_empty() {
            return Err(document);
        }
        self.bytes = bytes;
        self.reply_bytes = reply_bytes;
        self.documents.push((index, document));
        Ok(())
    }

    /// Whether it has no documents.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// The number of documents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Their indexes.
    pub fn indexes(&self) -> impl Iterator<Item = usize> + '_ {
        self.documents.iter().map(|(index, _)| *index)
    }

    /// The `_id` of the document at this index.
    #[must_use]
    pub fn id(&self, index: usize) -> Option<Bson> {
        self.document(index).map(NewDocument::id)
    }

    /// The command without its write concern.
    #[must_use]
    pub fn command(&self, collection: &str) -> RawDocumentBuf {
        RawWriter::build_of(self.bytes + 256, |writer| {
            writer.string("insert", collection);
            writer.bool("ordered", false);
            let list = writer.begin_array("documents");
            for (at, (_, document)) in self.documents.iter().enumerate() {
                writer.element(at, document.stored.as_bytes());
            }
            writer.end(list);
        })
    }

    /// The two halves, each for a command of its own; `None` for a single document.
    #[must_use]
    pub fn halves(&self) -> Option<(Self, Self)> {
        let (first, second) = self.documents.split_at(self.documents.len() / 2);
        if first.is_empty() {
            return None;
        }
        let of = |documents: &[(usize, NewDocument)]| {
            let bytes = documents
                .iter()
                .map(|(_, document)| document.stored.as_bytes().len() + 16);
            let reply_bytes = documents.iter().map(|(_, document)| document.reply_bytes());
            Self {
                bytes: bytes.sum(),
                reply_bytes: reply_bytes.sum(),
                documents: documents.to_vec(),
            }
        };
        Some((of(first), of(second)))
    }

    fn document(&self, index: usize) -> Option<&NewDocument> {
        let at = self.documents.binary_search_by_key(&index, |(at, _)| *at);
        at.ok().map(|at| &self.documents[at].1)
    }
}

#[cfg(test)]
mod tests {
    use bson::{Document, doc, oid::ObjectId};
    use serde::{Deserialize, Serialize};

    use super::{MAX_DOCUMENTS, NewDocument, NewDocuments};
    use crate::{
        attribute::{Attributed, DocumentFault, DocumentSpec},
        write::MAX_COMMAND_BYTES,
    };

    #[derive(Serialize, Deserialize)]
    struct Thing {
        #[serde(rename = "_id", skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        text: String,
    }

    impl Attributed for Thing {
        const SPEC: &'static DocumentSpec = &DocumentSpec::__new("Thing", "things", &[]);
        const __DERIVED: crate::private::Derived = crate::private::Derived;
    }

    fn thing(id: Option<&str>, bytes: usize) -> Thing {
        Thing {
            id: id.map(str::to_owned),
            text: "x".repeat(bytes),
        }
    }

    fn new(thing: &Thing) -> NewDocument {
        NewDocument::encode(thing, ObjectId::new).unwrap()
    }

    pub(super) fn things(ids: &[Option<&str>]) -> NewDocuments {
        let mut documents = NewDocuments::default();
        for (index, id) in (10..).zip(ids) {
            documents.push(index, new(&thing(*id, 1))).unwrap();
        }
        documents
    }

    #[test]
    fn a_document_without_an_id_gets_one_and_every_other_keeps_its_own() {
        let id = ObjectId::new();
        let mut documents = NewDocuments::default();
        let own = NewDocument::encode(&thing(None, 1), || id).unwrap();
        documents.push(0, own).unwrap();
        documents.push(1, new(&thing(Some("a"), 1))).unwrap();
        let command = Document::try_from(documents.command("things")).unwrap();
        let expected = doc! { "insert": "things", "ordered": false, "documents": [
            { "_id": id, "text": "x" }, { "_id": "a", "text": "x" },
        ] };
        assert_eq!(command, expected);
        assert_eq!(
            (documents.id(0), documents.id(1)),
            (Some(id.into()), Some("a".into()))
        );
        assert_eq!(documents.id(2), None);
    }

    #[test]
    fn commands_are_bounded_by_bytes_documents_and_the_size_of_a_reply() {
        let mut documents = NewDocuments::default();
        let mut number = 0;
        while documents.push(number, new(&thing(None, 1_000_000))).is_ok() {
            number += 1;
        }
        assert!(documents.command("things").as_bytes().len() <= MAX_COMMAND_BYTES + 256);
        assert_eq!(number, 12);
        let mut documents = NewDocuments::default();
        let small = new(&thing(None, 1));
        let pushed = (0..9_000).take_while(|at| documents.push(*at, small.clone()).is_ok());
        assert_eq!(pushed.count(), MAX_DOCUMENTS);
        // If all of these were refused, the reply would repeat every `_id`.
        let mut documents = NewDocuments::default();
        let long = new(&thing(Some(&"x".repeat(10_000)), 1));
        let pushed = (0..9_000).take_while(|at| documents.push(*at, long.clone()).is_ok());
        assert!(pushed.count() < 200);
        // A document larger than a command is sent in a command of its own.
        let large = new(&thing(None, 16 * 1024 * 1024 - 100));
        assert!(NewDocuments::default().push(0, large).is_ok());
        let error = NewDocument::encode(&thing(Some("a"), 16 * 1024 * 1024), ObjectId::new);
        let error = error.unwrap_err();
        assert!(
            matches!(error.fault(), DocumentFault::TooLarge { .. }),
            "{error}"
        );
        assert!(error.to_string().contains("document"), "{error}");
    }

    #[test]
    fn a_document_of_16_megabytes_is_taken_and_one_byte_more_is_refused() {
        let empty = new(&thing(Some("a"), 0)).stored.as_bytes().len();
        let room = 16 * 1024 * 1024 - empty;
        let encoded = |bytes| NewDocument::encode(&thing(Some("a"), bytes), ObjectId::new);
        assert!(encoded(room).is_ok());
        assert!(encoded(room + 1).is_err());
    }

    #[test]
    fn halves_hold_all_of_them() {
        let documents = things(&[None, Some("b"), None]);
        let (first, second) = documents.halves().unwrap();
        let indexes: Vec<usize> = first.indexes().chain(second.indexes()).collect();
        assert_eq!((first.len(), indexes), (1, vec![10, 11, 12]));
        assert!(first.halves().is_none());
    }
}
