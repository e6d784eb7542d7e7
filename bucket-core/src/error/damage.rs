//! A stored document that is no bucket of the model.

use std::{fmt, sync::Arc};

use super::AttributeError;
use crate::text::Shortened;

/// A document of the collection cannot be read as a bucket.
///
/// It names the document by its `_id`; nothing of its contents is shown beyond that.
///
/// ```
/// use bucket_core::{Damage, DamagedBucket};
///
/// let error = DamagedBucket::new("\"123_1698335223\"", Damage::CountMismatch { count: 3, items: 2 });
/// assert_eq!(
///     error.to_string(),
///     "bucket \"123_1698335223\" is damaged: its count is 3, its array holds 2 items",
/// );
/// ```
#[derive(Debug, Clone)]
pub struct DamagedBucket {
    id: String,
    damage: Damage,
}

/// What is wrong with a stored bucket.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Damage {
    /// A field is missing or of another type.
    Field {
        /// The path of the field.
        path: String,
        /// What was expected.
        expected: &'static str,
    },
    /// A key field is missing, of another type or out of range.
    Key {
        /// What is wrong with it.
        message: String,
    },
    /// The id is not of the model's form.
    Id {
        /// What is wrong with it.
        message: String,
    },
    /// The count differs from the length of the array.
    CountMismatch {
        /// The stored count.
        count: i64,
        /// The length of the array.
        items: usize,
    },
    /// An item of the array is not of the record's type.
    Item {
        /// The index of the item in the array.
        index: usize,
        /// What the decoder says.
        source: Arc<bson::error::Error>,
    },
    /// An attribute of an item, or one that the bucket holds for all of its items.
    Attribute {
        /// The index of the item in the array; none where the bucket itself holds it.
        index: Option<usize>,
        /// What is wrong with it.
        source: AttributeError,
    },
    /// The server refused to append to it.
    Refused {
        /// What the server says.
        message: String,
    },
    /// The document is no valid BSON.
    Bson(Arc<bson::error::Error>),
}

impl DamagedBucket {
    /// An error about the bucket whose `_id` prints as `id`.
    #[must_use]
    pub fn new(id: impl Into<String>, damage: Damage) -> Self {
        Self {
            id: id.into(),
            damage,
        }
    }

    /// The document's `_id` as it prints: a string in quotes, other types as the shell shows them.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What is wrong.
    #[must_use]
    pub fn damage(&self) -> &Damage {
        &self.damage
    }
}

impl fmt::Display for DamagedBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = Shortened(&self.id);
        write!(f, "bucket {id} is damaged: {}", self.damage)
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field { path, expected } => {
                write!(f, "its field `{path}` is missing or is not {expected}")
            }
            Self::Key { message } | Self::Id { message } | Self::Refused { message } => {
                f.write_str(message)
            }
            Self::CountMismatch { count, items } => {
                write!(f, "its count is {count}, its array holds {items} items")
            }
            Self::Item { index, source } => write!(f, "its item {index}: {source}"),
            Self::Attribute { index, source } => match index {
                Some(index) => write!(f, "its item {index}: {source}"),
                None => write!(f, "{source}"),
            },
            Self::Bson(source) => write!(f, "it is no valid BSON: {source}"),
        }
    }
}

impl std::error::Error for DamagedBucket {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.damage {
            Damage::Item { source, .. } | Damage::Bson(source) => Some(source.as_ref()),
            Damage::Attribute { source, .. } => Some(source),
            _ => None,
        }
    }
}
