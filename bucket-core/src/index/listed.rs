//! An index as the server lists it, and the command that lists indexes.

use bson::{Document, doc};

use super::{
    Drift,
    same_index::{collation, name},
};
use crate::{bucket::archived::INDEX, model::spec::ID_INDEX};

/// A collection that looks for several ids at a time by a scan of all of it.
pub(crate) const CLUSTERED: &str = "clustered collection";

/// A collection that has the items of the buckets of another one.
const ARCHIVE: &str = "archive";

/// An index as the server lists it: its definition, and whether it is there.
///
/// An index with an unfinished build has its definition one level down. It serves no reads, and a unique one
/// does not yet compare new documents with earlier ones.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listed<'a> {
    pub(super) definition: &'a Document,
    pub(super) is_unfinished: bool,
}

impl<'a> Listed<'a> {
    pub(super) fn of(entry: &'a Document) -> Self {
        let is_set = |name: &&str| entry.contains_key(name);
        Self {
            definition: entry.get_document("spec").unwrap_or(entry),
            is_unfinished: ["buildUUID", "indexBuildInfo"].iter().any(is_set),
        }
    }

    pub(super) fn all(found: &'a [Document]) -> Vec<Self> {
        found.iter().map(Self::of).collect()
    }

    /// What an index shows of its collection: that it is an archive; that on ids, that it is clustered, or its collation,
    /// which no other index need have.
    pub(super) fn collection_drift(&self) -> Option<Drift> {
        if self.definition.get_bool("clustered").unwrap_or(false) {
            return Some(Drift::Kind {
                found: CLUSTERED.to_owned(),
            });
        }
        if self.name() == Some(INDEX) && !self.is_unfinished {
            return Some(Drift::Kind {
                found: ARCHIVE.to_owned(),
            });
        }
        let collation = collation(self.definition).filter(|_| self.name() == Some(ID_INDEX))?;
        let locale = collation.get_str("locale").unwrap_or("?").to_owned();
        Some(Drift::Collation { locale })
    }

    pub(super) fn name(&self) -> Option<&'a str> {
        name(self.definition)
    }
}

/// The command that lists the indexes of a collection, and which of them are still being built. Set `plain`
/// for a server that does not report unfinished builds, as with the stable API.
///
/// ```
/// let command = bucket_core::index::list("trades", false);
/// assert!(command.contains_key("listIndexes"));
/// ```
#[must_use]
pub fn list(collection: &str, plain: bool) -> Document {
    // More indexes than a collection can have.
    let mut command = doc! { "listIndexes": collection, "cursor": { "batchSize": 1_000 } };
    if !plain {
        command.insert("includeBuildUUIDs", true);
    }
    command
}
