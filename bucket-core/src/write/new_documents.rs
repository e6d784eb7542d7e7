//! Documents on their way into a collection: in which commands, and what a reply says of each.

use bson::{Bson, RawBsonRef, RawDocument, RawDocumentBuf, oid::ObjectId};

use super::{Answer, Doubt, WriteFailure};
use crate::{
    attribute::{Attributed, DocumentError, DocumentFault, encode},
    codec::raw::{RawWriter, printed_id},
    model::{size::MAX_COMMAND_BYTES, spec::ID},
};

/// The largest document that the server stores, in bytes.
const MAX_DOCUMENT_BYTES: usize = 16 * 1024 * 1024;
/// The largest number of documents in one command.
const MAX_DOCUMENTS: usize = 5_000;
/// What a reply that refuses every document may take, in bytes: far below the largest one.
const MAX_REPLY_BYTES: usize = 8 * 1024 * 1024;
/// What the refusal of a document takes in a reply beside its `_id`, which stands there twice.
const REFUSAL_BYTES: usize = 512;

const DUPLICATE_KEY: i32 = 11_000;
const ID_INDEX: &str = "_id_";

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
    /// The `_id` is one of its own, that no other document has.
    has_new_id: bool,
}

impl NewDocument {
    /// Encodes a document; one without an `_id` gets this one.
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

    fn reply_bytes(&self) -> usize {
        let id = match self.stored.get(ID) {
            Ok(Some(RawBsonRef::Document(id))) => id.as_bytes().len(),
            Ok(Some(RawBsonRef::String(id))) => id.len(),
            Ok(Some(RawBsonRef::Binary(id))) => id.bytes.len(),
            _ => 0,
        };
        // In the message each byte of it may take six.
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
/// One that the server refuses does not keep the others from being stored.
#[derive(Debug, Clone, Default)]
pub struct NewDocuments {
    documents: Vec<(usize, NewDocument)>,
    bytes: usize,
    reply_bytes: usize,
}

/// What a reply says of new documents.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct StoredDocuments {
    /// Those that are stored, by their indexes.
    pub stored: Vec<usize>,
    /// Those that the server refused.
    pub refused: Vec<(usize, WriteFailure)>,
    /// Those that the server refused, and that a try without a reply may have stored after that. None will
    /// any more, so [a look](NewDocuments::saw) at their `_id`s tells.
    pub doubtful: Vec<(usize, WriteFailure)>,
    /// Those of which it is not known.
    pub unknown: Vec<usize>,
    /// The write concern was not met: what is stored may be rolled back.
    pub write_concern_error: Option<WriteFailure>,
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

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Their indexes.
    pub fn indexes(&self) -> impl Iterator<Item = usize> + '_ {
        self.documents.iter().map(|(index, _)| *index)
    }

    /// The `_id` of the document of this index.
    #[must_use]
    pub fn id(&self, index: usize) -> Option<Bson> {
        self.document(index).map(NewDocument::id)
    }

    /// The command, but for its write concern.
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

    /// The two halves, each for a command of its own; none of a single document.
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

    /// Reads the answer to their command.
    #[must_use]
    pub fn settle(&self, answer: &Answer) -> StoredDocuments {
        let Answer {
            reply, doubt, open, ..
        } = answer;
        // By a try that the server does not know as one of this command: only the `_id`s tell.
        let was_lost = answer.repeated;
        let mut settled = StoredDocuments {
            write_concern_error: reply
                .get_document("writeConcernError")
                .ok()
                .map(WriteFailure::read),
            ..StoredDocuments::default()
        };
        let mut failures: Vec<Option<WriteFailure>> = vec![None; self.documents.len()];
        let errors = reply.get_array("writeErrors").map(Vec::as_slice);
        for error in errors
            .unwrap_or_default()
            .iter()
            .filter_map(Bson::as_document)
        {
            let at =
                crate::model::whole::field(error, "index").and_then(|at| usize::try_from(at).ok());
            if let Some(failure) = at.and_then(|at| failures.get_mut(at)) {
                *failure = Some(WriteFailure::read(error));
            }
        }
        let refused = failures.iter().flatten().count();
        let told = self.documents.len() - open.len();
        let applied = crate::model::whole::field(reply, "n").and_then(|n| usize::try_from(n).ok());
        // Else the server has stopped half-way, and does not say where.
        let is_complete = applied.is_some_and(|applied| applied + refused == told);
        for (at, ((index, document), failure)) in self.documents.iter().zip(failures).enumerate() {
            match failure {
                None if open.binary_search(&at).is_ok() => settled.unknown.push(*index),
                None if is_complete => settled.stored.push(*index),
                None => settled.unknown.push(*index),
                Some(failure) => {
                    let is_there =
                        failure.code == DUPLICATE_KEY && failure.index() == Some(ID_INDEX);
                    if is_there && was_lost && document.has_new_id {
                        // By the try that was lost: nobody else has that `_id`.
                        settled.stored.push(*index);
                    } else if is_there && was_lost {
                        // By that try or by another client.
                        settled.unknown.push(*index);
                    } else {
                        // An `_id` that is taken stays taken.
                        match if is_there { Doubt::None } else { *doubt } {
                            Doubt::None => settled.refused.push((*index, failure)),
                            Doubt::Overtaken => settled.doubtful.push((*index, failure)),
                            Doubt::Open => settled.unknown.push(*index),
                        }
                    }
                }
            }
        }
        settled
    }

    /// The `_id`s that were found of the [doubtful](StoredDocuments::doubtful) ones: the others are refused.
    pub fn saw(&self, settled: &mut StoredDocuments, found: &[Bson]) {
        let doubtful = std::mem::take(&mut settled.doubtful);
        let is_there: Vec<bool> = doubtful
            .iter()
            .map(|(index, _)| self.id(*index).is_some_and(|id| found.contains(&id)))
            .collect();
        // To the server 1 and 1.0 are one `_id`: then it is not known which of them was found.
        let is_clear = is_there.iter().filter(|is_there| **is_there).count() == found.len();
        for ((index, failure), is_there) in doubtful.into_iter().zip(is_there) {
            match (is_there, is_clear) {
                (false, true) => settled.refused.push((index, failure)),
                // Nobody else has that `_id`.
                (true, _) if self.has_new_id(index) => settled.stored.push(index),
                _ => settled.unknown.push(index),
            }
        }
        settled.stored.sort_unstable();
        settled.refused.sort_unstable_by_key(|(index, _)| *index);
        settled.unknown.sort_unstable();
    }

    fn has_new_id(&self, index: usize) -> bool {
        let document = self.document(index);
        document.is_some_and(|document| document.has_new_id)
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
        write::{Answer, Doubt, MAX_COMMAND_BYTES},
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

    fn things(ids: &[Option<&str>]) -> NewDocuments {
        let mut documents = NewDocuments::default();
        for (index, id) in (10..).zip(ids) {
            documents.push(index, new(&thing(*id, 1))).unwrap();
        }
        documents
    }

    fn answer(reply: &Document, doubt: Doubt, repeated: bool) -> Answer {
        let mut answer = Answer::sure(reply.clone());
        (answer.doubt, answer.repeated) = (doubt, repeated);
        answer
    }

    fn invalid(at: i32) -> Document {
        doc! { "index": at, "code": 121, "errmsg": "Document failed validation" }
    }

    fn taken(at: i32) -> Document {
        let message =
            "E11000 duplicate key error collection: t.things index: _id_ dup key: { _id: 3 }";
        doc! { "index": at, "code": 11_000, "errmsg": message }
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
    fn commands_are_bounded_by_bytes_documents_and_what_a_reply_would_take() {
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
        // Were all of these refused, the reply would repeat every `_id`.
        let mut documents = NewDocuments::default();
        let long = new(&thing(Some(&"x".repeat(10_000)), 1));
        let pushed = (0..9_000).take_while(|at| documents.push(*at, long.clone()).is_ok());
        assert!(pushed.count() < 200);
        // One that takes more than a command is sent alone.
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
    fn a_reply_names_each_document() {
        let documents = things(&[None, Some("b"), None]);
        let all = documents.settle(&answer(&doc! { "ok": 1, "n": 3 }, Doubt::None, false));
        assert_eq!((all.stored, all.refused.len()), (vec![10, 11, 12], 0));
        let reply = doc! { "ok": 1, "n": 2, "writeErrors": [taken(1)] };
        for doubt in [Doubt::None, Doubt::Overtaken, Doubt::Open] {
            let settled = documents.settle(&answer(&reply, doubt, false));
            assert_eq!(settled.stored, [10, 12]);
            let (index, failure) = &settled.refused[0];
            assert_eq!((*index, failure.index()), (11, Some("_id_")));
        }
        let concern = doc! { "code": 64, "errmsg": "waiting" };
        let reply = doc! { "ok": 1, "n": 3, "writeConcernError": concern };
        let settled = documents.settle(&answer(&reply, Doubt::None, false));
        assert_eq!(
            settled.write_concern_error.map(|error| error.code),
            Some(64)
        );
    }

    #[test]
    fn what_a_reply_leaves_open_is_never_said_to_be_stored_or_not() {
        let documents = things(&[None, Some("b"), None]);
        // The number does not fit.
        let settled = documents.settle(&answer(&doc! { "ok": 1, "n": 1 }, Doubt::None, false));
        assert_eq!(settled.unknown, [10, 11, 12]);
        let settled = documents.settle(&answer(&doc! { "ok": 1 }, Doubt::None, false));
        assert_eq!(settled.unknown, [10, 11, 12]);
        // A validator refused it, and a late try may come when it does not.
        let reply = doc! { "ok": 1, "n": 2, "writeErrors": [invalid(2)] };
        let settled = documents.settle(&answer(&reply, Doubt::Open, false));
        assert_eq!((settled.stored, settled.unknown), (vec![10, 11], vec![12]));
        assert_eq!(
            documents
                .settle(&answer(&reply, Doubt::None, false))
                .refused
                .len(),
            1
        );
    }

    #[test]
    fn a_repetition_without_a_number_finds_what_the_lost_try_stored_by_ids_of_its_own() {
        let documents = things(&[None, Some("b"), None]);
        let reply = doc! { "ok": 1, "n": 1, "writeErrors": [taken(0), taken(1)] };
        let settled = documents.settle(&answer(&reply, Doubt::None, true));
        assert_eq!((settled.stored, settled.unknown), (vec![10, 12], vec![11]));
    }

    #[test]
    fn a_look_tells_which_documents_a_late_try_stored_after_they_were_refused() {
        let documents = things(&[None, Some("b"), None, Some("d")]);
        let reply = doc! {
            "ok": 1, "n": 1, "writeErrors": [invalid(0), invalid(1), invalid(2)],
        };
        let look = |found: &[usize]| {
            let mut settled = documents.settle(&answer(&reply, Doubt::Overtaken, false));
            let doubtful: Vec<usize> = settled.doubtful.iter().map(|(index, _)| *index).collect();
            assert_eq!((doubtful, &settled.stored), (vec![10, 11, 12], &vec![13]));
            let found: Vec<_> = found.iter().filter_map(|at| documents.id(*at)).collect();
            documents.saw(&mut settled, &found);
            let refused: Vec<usize> = settled.refused.iter().map(|(index, _)| *index).collect();
            (settled.stored, refused, settled.unknown)
        };
        assert_eq!(look(&[]), (vec![13], vec![10, 11, 12], vec![]));
        // One with an `_id` of its own may be another client's.
        assert_eq!(look(&[10, 11]), (vec![10, 13], vec![12], vec![11]));
        // What was found is none of them to the letter.
        assert_eq!(look(&[13]), (vec![13], vec![], vec![10, 11, 12]));
    }

    #[test]
    fn a_part_without_a_reply_leaves_open_what_it_brought_and_nothing_else() {
        let documents = things(&[None, Some("b"), None]);
        let reply = doc! { "ok": 1, "n": 1, "writeErrors": [invalid(1)] };
        let mut answer = answer(&reply, Doubt::None, false);
        answer.open = vec![2];
        let settled = documents.settle(&answer);
        assert_eq!((settled.stored, settled.unknown), (vec![10], vec![12]));
        assert_eq!(settled.refused.len(), 1);
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
