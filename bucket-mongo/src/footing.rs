//! What operations rest on: the collection is there, orders text as ids need it, and has the indexes that
//! keep writes exact.
//!
//! A statement fails where the index that it names is missing. But it names one index at most, a bucket that
//! is inserted names none, and in a collection of another collation all of them are there and mix keys.
//! So a handle looks once before its first write, and has the server refuse its commands wherever the
//! collection is another one by then: they carry its UUID.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicU8, Ordering::Relaxed},
};

use bson::{Binary, Bson, Document, RawDocumentBuf, doc};
use bucket_core::{BucketSpec, Record, index::Drift};
use mongodb::{Collection, error::ErrorKind as DriverKind};

use crate::{Buckets, Error, ErrorKind, Result, error::Context, trace, writer::verdict::Failure};

const UNAUTHORIZED: i32 = 13;
/// A field of a command that the server does not know, or that the stable API does not have.
const UNKNOWN_FIELD: [i32; 2] = [40_415, 323];

/// What a handle and its clones have seen of their collection.
#[derive(Debug, Default)]
pub(crate) struct Footing {
    ground: Mutex<Option<Ground>>,
    /// It has no collation.
    is_readable: AtomicBool,
    is_warned: AtomicBool,
    naming: Naming,
}

/// What writes rest on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ground {
    /// The collection of this UUID, which has the indexes.
    Collection(Binary),
    /// The collection that has the name: it may not be looked at.
    Name,
}

/// Whether commands can say by its UUID which collection they are for.
#[derive(Debug, Default)]
pub(crate) struct Naming(AtomicU8);

const TAKEN: u8 = 1;
const UNKNOWN: u8 = 2;

impl Naming {
    /// The server has taken such a command.
    pub(crate) fn is_taken(&self) -> bool {
        self.0.load(Relaxed) == TAKEN
    }

    /// The server is one from before MongoDB 6.0.
    pub(crate) fn is_unknown(&self) -> bool {
        self.0.load(Relaxed) == UNKNOWN
    }

    pub(crate) fn saw_taken(&self) {
        self.0.store(TAKEN, Relaxed);
    }

    /// Whether this is what a server says that does not know the field; nothing was executed.
    pub(crate) fn is_refused_by(&self, error: &mongodb::error::Error) -> bool {
        let refuses = matches!(error.kind.as_ref(), DriverKind::Command(error)
            if UNKNOWN_FIELD.contains(&error.code) && error.message.contains(COLLECTION_UUID));
        if refuses {
            self.0.store(UNKNOWN, Relaxed);
        }
        refuses
    }
}

/// The field of a command.
const COLLECTION_UUID: &str = "collectionUUID";

impl Footing {
    pub(crate) fn naming(&self) -> &Naming {
        &self.naming
    }

    pub(crate) fn ground(&self) -> Option<Ground> {
        self.lock().clone()
    }

    /// The collection is as the model needs it.
    pub(crate) fn stand_on(&self, ground: Ground) {
        *self.lock() = Some(ground);
        self.is_readable.store(true, Relaxed);
    }

    /// The collection is another one than this, or has changed.
    pub(crate) fn leave(&self, ground: Option<&Ground>) {
        self.lock().take_if(|current| Some(&*current) == ground);
        self.is_readable.store(false, Relaxed);
    }

    /// Says once that nothing is known of the collection.
    pub(crate) fn warn(&self, spec: &BucketSpec) {
        if !self.is_warned.swap(true, Relaxed) {
            tracing::warn!(
                target: trace::WRITE,
                collection = spec.collection(),
                "the collection and its indexes may not be listed (the privileges `listCollections` and \
                 `listIndexes`): whether they are as the model needs them is not known"
            );
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Ground>> {
        // A value is replaced as a whole.
        self.ground.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Record> Buckets<T> {
    /// The collection, to be read: one with a collation would give the records of other keys too.
    pub(crate) async fn readable(&self, context: &Context) -> Result<Collection<RawDocumentBuf>> {
        let footing = &self.learnt().footing;
        if footing.is_readable.load(Relaxed) {
            return Ok(self.collection());
        }
        let mut look = self.database().run_command(list_collections(T::SPEC));
        if let Some(criteria) = self.database().selection_criteria() {
            look = look.selection_criteria(criteria.clone());
        }
        match look.await {
            Ok(reply) => {
                if let Some(info) = listed(&reply).into_iter().next() {
                    if let Some(drift @ Drift::Collation { .. }) = collection_drift(&info) {
                        return Err(Error::new(ErrorKind::Drift(Box::new(drift)), context));
                    }
                    footing.is_readable.store(true, Relaxed);
                }
            }
            Err(error) if is_unauthorized(&error) => footing.is_readable.store(true, Relaxed),
            Err(error) if Failure::of(&error) == Failure::NotSent => {
                return Err(Error::read(error, context));
            }
            // What is wrong the read will say.
            Err(_) => {}
        }
        Ok(self.collection())
    }
}

/// The command that tells what the collection is.
pub(crate) fn list_collections(spec: &BucketSpec) -> Document {
    doc! { "listCollections": 1, "filter": { "name": spec.collection() }, "cursor": {} }
}

/// The command that tells which indexes it has.
pub(crate) fn list_indexes(spec: &BucketSpec) -> Document {
    // More than a collection can have.
    doc! { "listIndexes": spec.collection(), "cursor": { "batchSize": 1_000 } }
}

/// What such a command has found.
pub(crate) fn listed(reply: &Document) -> Vec<Document> {
    let cursor = reply.get_document("cursor");
    let batch = cursor.and_then(|cursor| cursor.get_array("firstBatch"));
    let batch = batch.map(Vec::as_slice).unwrap_or_default().iter();
    batch.filter_map(Bson::as_document).cloned().collect()
}

/// The UUID of a collection that was listed.
pub(crate) fn uuid(info: &Document) -> Option<Binary> {
    match info.get_document("info").ok()?.get("uuid")? {
        Bson::Binary(uuid) => Some(uuid.clone()),
        _ => None,
    }
}

pub(crate) fn is_unauthorized(error: &mongodb::error::Error) -> bool {
    matches!(error.kind.as_ref(), DriverKind::Command(error) if error.code == UNAUTHORIZED)
}

/// How a collection that was listed differs from one that can hold buckets.
pub(crate) fn collection_drift(found: &Document) -> Option<Drift> {
    let kind = found.get_str("type").unwrap_or("collection");
    if kind != "collection" {
        return Some(Drift::Kind {
            found: kind.to_owned(),
        });
    }
    let options = found.get_document("options").ok()?;
    if options.get_bool("capped").unwrap_or(false) {
        return Some(Drift::Kind {
            found: "capped collection".to_owned(),
        });
    }
    let locale = options
        .get_document("collation")
        .ok()?
        .get_str("locale")
        .unwrap_or("?");
    (locale != "simple").then(|| Drift::Collation {
        locale: locale.to_owned(),
    })
}
