//! What writes depend on: the collection exists, sorts text as ids need it, and has the indexes that keep
//! writes exact.
//!
//! A statement fails if the index that it names is missing. But it names at most one index, an inserted
//! bucket names none, and a collection with another collation has all of them and still mixes keys. So a
//! handle looks once before its first write. Its commands then carry the UUID of the collection, so that the
//! server refuses them if the collection is another one.

use bson::{Bson, Document, Uuid, doc};

use super::codes::{NAMESPACE_NOT_FOUND, NOT_FOR_VIEWS, UNAUTHORIZED, is_unknown_field};
use crate::{
    index::{self, Drift},
    model::spec::BucketSpec,
};

/// What writes depend on.
#[derive(Debug, Clone, PartialEq)]
pub enum Ground {
    /// The collection with this UUID, which has the indexes.
    Collection(Uuid),
    /// The collection that has the name, which has the indexes: what else it is may not be looked at.
    Indexes,
    /// The collection that has the name: it may not be looked at.
    Name,
}

/// What a look at a collection reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// The collection itself.
    Collection,
    /// Its indexes, and which of them are still being built.
    Indexes,
    /// Its indexes, from a server that does not report which of them are still being built, as with the
    /// stable API.
    PlainIndexes,
}

/// The result of a look.
#[derive(Debug, Clone, PartialEq)]
pub enum Listing {
    /// These collections or indexes; empty if there are none.
    Found(Vec<Document>),
    /// The server does not permit the look.
    NotPermitted,
    /// The name belongs to what has no indexes, as the server calls it.
    OtherKind(&'static str),
    /// The server does not know a field of the command.
    NotKnown,
}

impl Look {
    /// The command. Send it outside a transaction, because the server lists nothing inside one.
    ///
    /// ```
    /// # use bucket_core::{BucketSpec, write::Look};
    /// fn print(spec: &BucketSpec) {
    ///     println!("{}", Look::Indexes.command(spec));
    /// }
    /// ```
    #[must_use]
    pub fn command(self, spec: &BucketSpec) -> Document {
        let collection = spec.collection();
        match self {
            Self::Collection => {
                doc! { "listCollections": 1, "filter": { "name": collection }, "cursor": {} }
            }
            Self::Indexes => index::list(collection, false),
            Self::PlainIndexes => index::list(collection, true),
        }
    }
}

impl Listing {
    /// Reads the reply to such a command.
    ///
    /// ```
    /// use bson::doc;
    /// use bucket_core::write::Listing;
    ///
    /// let reply = doc! { "cursor": { "firstBatch": [{ "name": "trades" }] }, "ok": 1 };
    /// assert!(matches!(Listing::of_reply(&reply), Listing::Found(found) if found.len() == 1));
    /// ```
    #[must_use]
    pub fn of_reply(reply: &Document) -> Self {
        let cursor = reply.get_document("cursor");
        let batch = cursor.and_then(|cursor| cursor.get_array("firstBatch"));
        let batch = batch.map(Vec::as_slice).unwrap_or_default().iter();
        Self::Found(batch.filter_map(Bson::as_document).cloned().collect())
    }

    /// Reads an error of the server, if it says anything about the look.
    #[must_use]
    pub fn of_error(code: i32) -> Option<Self> {
        match code {
            UNAUTHORIZED => Some(Self::NotPermitted),
            NAMESPACE_NOT_FOUND => Some(Self::Found(Vec::new())),
            NOT_FOR_VIEWS => Some(Self::OtherKind("view")),
            code if is_unknown_field(code) => Some(Self::NotKnown),
            _ => None,
        }
    }
}

impl Ground {
    /// The collection in such a listing.
    pub(super) fn of_listed(found: &Document) -> Self {
        collection_uuid(found).map_or(Self::Indexes, Self::Collection)
    }

    /// The same, whose indexes may not be looked at.
    pub(super) fn without_indexes(self) -> Self {
        match self {
            Self::Indexes => Self::Name,
            ground => ground,
        }
    }
}

/// The UUID of a listed collection: a collection of the same name that is created later has another.
///
/// ```
/// use bson::{Binary, Uuid, doc};
/// use bucket_core::write::collection_uuid;
///
/// let uuid = Uuid::from_bytes([7; 16]);
/// let listed = doc! { "name": "trades", "info": { "uuid": Binary::from(uuid) } };
/// assert_eq!(collection_uuid(&listed), Some(uuid));
/// assert_eq!(collection_uuid(&doc! { "name": "a_view", "info": {} }), None);
/// ```
#[must_use]
pub fn collection_uuid(listed: &Document) -> Option<Uuid> {
    match listed.get_document("info").ok()?.get("uuid")? {
        Bson::Binary(uuid) => uuid.to_uuid().ok(),
        _ => None,
    }
}

/// How a listed collection differs from one that can hold buckets.
///
/// ```
/// use bson::doc;
/// use bucket_core::write::collection_drift;
///
/// assert!(collection_drift(&doc! { "name": "trades", "type": "view" }).is_some());
/// assert!(collection_drift(&doc! { "name": "trades", "type": "collection" }).is_none());
/// ```
#[must_use]
pub fn collection_drift(found: &Document) -> Option<Drift> {
    let kind = found.get_str("type").unwrap_or("collection");
    if kind != "collection" {
        return Some(Drift::Kind {
            found: kind.to_owned(),
        });
    }
    let options = found.get_document("options").ok()?;
    let other_kind = if options.get_bool("capped").unwrap_or(false) {
        Some("capped collection")
    } else if options.contains_key("clusteredIndex") {
        Some(index::CLUSTERED)
    } else {
        None
    };
    if let Some(kind) = other_kind {
        return Some(Drift::Kind {
            found: kind.to_owned(),
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
