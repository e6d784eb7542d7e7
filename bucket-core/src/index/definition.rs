//! The definition of an index that a model needs.

use bson::{Document, doc};

/// The option that makes the server remove documents.
pub(super) const EXPIRE_AFTER: &str = "expireAfterSeconds";

/// An index as the server's `createIndexes` takes it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct IndexPlan {
    /// The name.
    pub name: String,
    /// The fields and their directions.
    pub keys: Document,
    /// Whether it is unique.
    pub unique: bool,
    /// The condition of a partial index.
    pub partial: Option<Document>,
    /// The server removes what is older than this, in seconds.
    pub expire_after: Option<u32>,
}

impl IndexPlan {
    /// The definition, as `createIndexes` takes it and `listIndexes` returns it.
    #[must_use]
    pub fn definition(&self) -> Document {
        let mut definition = doc! { "name": &self.name, "key": self.keys.clone() };
        if self.unique {
            definition.insert("unique", true);
        }
        if let Some(partial) = &self.partial {
            definition.insert("partialFilterExpression", partial.clone());
        }
        if let Some(seconds) = self.expire_after {
            definition.insert(EXPIRE_AFTER, i32::try_from(seconds).unwrap_or(i32::MAX));
        }
        definition
    }
}
