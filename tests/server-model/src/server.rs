//! The server: its state and its entry points.

use std::{collections::BTreeMap, sync::Arc};

use bson::{Document, RawDocument, RawDocumentBuf, Timestamp, doc, oid::ObjectId};

use crate::{
    collection::Collection,
    command::{self, Between},
    error::Refusal,
    oplog::Oplog,
    replica::{Interruption, State},
    session::Sessions,
    value::Fields,
};

/// A server: the successive primaries of its replica set.
///
/// A clone is a cheap snapshot: documents are shared.
#[derive(Debug, Clone, Default)]
pub struct Server {
    pub(crate) collections: BTreeMap<Arc<str>, Collection>,
    /// The collections created so far.
    pub(crate) created: u64,
    /// The object ids made so far.
    ids: u64,
    pub(crate) oplog: Oplog,
    pub(crate) sessions: Sessions,
    pub(crate) state: State,
    pub(crate) interruption: Option<Interruption>,
    /// The caller decides when a majority has a write.
    pub(crate) lags: bool,
    limits: Limits,
}

/// The sizes that the server refuses.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Limits {
    /// The largest document, in bytes.
    pub document_bytes: usize,
    /// The largest number of statements in one command.
    pub statements: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            document_bytes: 16 * 1024 * 1024,
            statements: 100_000,
        }
    }
}

impl Limits {
    /// These limits with another size of documents.
    #[must_use]
    pub fn with_document_bytes(mut self, bytes: usize) -> Self {
        self.document_bytes = bytes;
        self
    }
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The reply.
    Reply(Document),
    /// The write is done. The server replies when a majority has everything up to this position. If
    /// that does not happen in time, [`Answer::timed_out`] is the reply.
    Held {
        /// The reply.
        reply: Document,
        /// The position in the oplog.
        until: u64,
    },
    /// The read must wait until a majority has everything up to this position. Nothing was done;
    /// send it again then.
    Postponed {
        /// The position in the oplog.
        until: u64,
    },
}

impl Answer {
    /// The reply, if it needs no waiting.
    #[must_use]
    pub fn reply(self) -> Option<Document> {
        match self {
            Self::Reply(reply) => Some(reply),
            Self::Held { .. } | Self::Postponed { .. } => None,
        }
    }

    /// The reply of a server that waited for the full time limit.
    #[must_use]
    pub fn timed_out(self) -> Document {
        match self {
            Self::Reply(reply) => reply,
            Self::Held { mut reply, .. } => {
                reply.insert(
                    "writeConcernError",
                    doc! {
                        "code": 64,
                        "codeName": "WriteConcernFailed",
                        "errmsg": "waiting for replication timed out",
                        "errInfo": { "wtimeout": true },
                    },
                );
                reply
            }
            Self::Postponed { .. } => {
                Refusal::new(50, "operation exceeded time limit").of_command()
            }
        }
    }

    /// The reply of a server that stopped being the primary while it waited.
    #[must_use]
    pub fn stepped_down(self) -> Document {
        match self {
            Self::Reply(reply) => reply,
            Self::Held { mut reply, .. } => {
                reply.insert(
                    "writeConcernError",
                    doc! {
                        "code": 11_602,
                        "codeName": "InterruptedDueToReplStateChange",
                        "errmsg": "operation was interrupted",
                    },
                );
                reply
            }
            Self::Postponed { .. } => {
                Refusal::new(11_602, "operation was interrupted").of_command()
            }
        }
    }
}

impl Server {
    /// An empty server: a primary whose writes reach a majority immediately.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The reply to a command. If the server would wait for a majority, the wait has timed out.
    pub fn run(&mut self, command: &RawDocument) -> Document {
        self.execute(command).timed_out()
    }

    /// The answer to a command.
    pub fn execute(&mut self, command: &RawDocument) -> Answer {
        command::execute(self, command, None)
    }

    /// Like [`Server::execute`]. `between` runs after an upsert's read found nothing and before its
    /// insertion. It may send other commands.
    pub fn execute_between(&mut self, command: &RawDocument, between: Between<'_>) -> Answer {
        command::execute(self, command, Some(between))
    }

    /// Replaces the server's default limits.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// The documents of a collection (`database.collection`), in order of insertion.
    #[must_use]
    pub fn documents(&self, namespace: &str) -> Vec<Document> {
        let collection = self.collections.get(namespace);
        let documents = collection.into_iter().flat_map(|it| it.documents.values());
        documents.map(|fields| fields.to_document()).collect()
    }

    /// Like [`Server::documents`], as bytes.
    #[must_use]
    pub fn raw_documents(&self, namespace: &str) -> Vec<RawDocumentBuf> {
        let collection = self.collections.get(namespace);
        let documents = collection.into_iter().flat_map(|it| it.documents.values());
        // Values that were read from BSON can be written as BSON.
        documents
            .map(|fields| RawDocumentBuf::from_bytes(fields.to_bytes()).unwrap_or_default())
            .collect()
    }

    /// The documents of a collection that a majority has.
    #[must_use]
    pub fn majority_documents(&self, namespace: &str) -> Vec<Document> {
        let collection = self.majority_view(namespace);
        let documents = collection.iter().flat_map(|it| it.documents.values());
        documents.map(|fields| fields.to_document()).collect()
    }

    /// The UUID of a collection.
    #[must_use]
    pub fn uuid(&self, namespace: &str) -> Option<[u8; 16]> {
        self.collections.get(namespace).map(|it| it.uuid)
    }

    /// An object id that no document has yet.
    pub(crate) fn object_id(&mut self) -> ObjectId {
        self.ids += 1;
        let mut bytes = [0; 12];
        bytes[4..].copy_from_slice(&self.ids.to_be_bytes());
        ObjectId::from_bytes(bytes)
    }

    pub(crate) fn check_size(&self, fields: &Fields, inserting: bool) -> Result<(), Refusal> {
        let max = self.limits.document_bytes;
        let size = fields.size();
        if size <= max {
            return Ok(());
        }
        if inserting {
            return Err(Refusal::new(
                2,
                format!("object to insert too large. size in bytes: {size}, max size: {max}"),
            ));
        }
        if size > max + 16 * 1024 {
            return Err(Refusal::new(
                10_334,
                format!(
                    "BSONObj size: {size} (0x{size:X}) is invalid. Size must be between 0 and {}({}MB)",
                    max + 16 * 1024,
                    max / 1024 / 1024
                ),
            ));
        }
        let message = format!("Resulting document after update is larger than {max}");
        Err(Refusal::new(17_419, message))
    }

    /// The time of a position in the oplog, in the form of replies.
    pub(crate) fn time(position: u64) -> Timestamp {
        Timestamp {
            time: FIRST_SECOND,
            increment: u32::try_from(position).unwrap_or(u32::MAX),
        }
    }
}

/// An arbitrary second: the model has no clock.
const FIRST_SECOND: u32 = 1_700_000_000;
