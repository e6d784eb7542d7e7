//! A stored document that is not a bucket of the model.

use std::{fmt, sync::Arc};

use bson::DateTime;

use super::AttributeError;
use crate::text::Shortened;

/// A document of the collection cannot be read as a bucket.
///
/// The error names the document by its `_id` and shows nothing else of its contents.
///
/// ```
/// use bucket_core::{Damage, DamagedBucket};
///
/// fn explain(error: &DamagedBucket) -> String {
///     match error.damage() {
///         Damage::CountMismatch { count, items, .. } => {
///             format!("{} says {count} and has {items}", error.id())
///         }
///         _ => error.to_string(),
///     }
/// }
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
    /// A field is missing or has another type.
    #[non_exhaustive]
    Field {
        /// The path of the field.
        path: String,
        /// What was expected.
        expected: &'static str,
    },
    /// A key field is missing, has another type or is out of range.
    #[non_exhaustive]
    Key {
        /// What is wrong with it.
        message: String,
    },
    /// The id does not have the model's form.
    #[non_exhaustive]
    Id {
        /// What is wrong with it.
        message: String,
    },
    /// The count differs from the length of the array.
    #[non_exhaustive]
    CountMismatch {
        /// The stored count.
        count: i64,
        /// The length of the array.
        items: usize,
    },
    /// An item of the array does not decode as the record's type.
    #[non_exhaustive]
    Item {
        /// The index of the item in the array.
        index: usize,
        /// The decoder's error.
        source: Arc<bson::error::Error>,
    },
    /// An attribute is wrong: one of an item, or one that the bucket holds for all its items.
    #[non_exhaustive]
    Attribute {
        /// The index of the item in the array; `None` if the bucket itself holds the attribute.
        index: Option<usize>,
        /// What is wrong with it.
        source: AttributeError,
    },
    /// The server refused to append to the bucket.
    #[non_exhaustive]
    Refused {
        /// The server's message.
        message: String,
    },
    /// The bucket is sealed, and its packed items are damaged.
    #[non_exhaustive]
    Packed {
        /// What is wrong with them.
        message: String,
    },
    /// The bucket is sealed, and this program does not know the format of its packed items: a later release wrote it,
    /// or the program is built without the feature `seal`. Nothing is wrong with the bucket.
    #[non_exhaustive]
    Sealed {
        /// What the program lacks.
        message: String,
    },
    /// The bucket is archived: its items are in another collection, which the handle does not know, or which the
    /// operation does not go to. Nothing is wrong with the bucket.
    Archived,
    /// The records of the bucket have expired, and only its statistics are kept
    /// ([`keep_stats`](crate::BucketSpec::keep_stats)). Nothing is wrong with the bucket.
    #[non_exhaustive]
    Expired {
        /// Bounds on the times that its records had, where the reader knows them.
        span: Option<(DateTime, DateTime)>,
    },
    /// The records of the bucket have expired, and it was stored before the model had this aggregate, so nobody knows it any
    /// more. Nothing is wrong with the bucket.
    #[non_exhaustive]
    NeverStored {
        /// The path of the aggregate.
        path: String,
    },
    /// The document is not valid BSON.
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

    /// The document's `_id` as text: a string in quotes, other types as the shell prints them.
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

/// For `bucket-mongo`: other crates cannot build variants that may get fields.
#[doc(hidden)]
impl Damage {
    /// A field that is missing or has another type.
    #[must_use]
    pub fn __field(path: &str, expected: &'static str) -> Self {
        let path = path.to_owned();
        Self::Field { path, expected }
    }

    /// The server refused to append, with this message.
    #[must_use]
    pub fn __refused(message: String) -> Self {
        Self::Refused { message }
    }
}

impl fmt::Display for DamagedBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = Shortened(&self.id);
        match self.damage {
            Damage::Archived => write!(f, "bucket {id} is archived: {}", self.damage),
            Damage::Expired { .. } | Damage::NeverStored { .. } => {
                write!(f, "bucket {id} has expired: {}", self.damage)
            }
            _ => write!(f, "bucket {id} is damaged: {}", self.damage),
        }
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
                write!(f, "its count is {count}, but its array has {items} items")
            }
            Self::Item { index, source } => write!(f, "its item {index}: {source}"),
            Self::Attribute { index, source } => match index {
                Some(index) => write!(f, "its item {index}: {source}"),
                None => write!(f, "{source}"),
            },
            Self::Packed { message } | Self::Sealed { message } => {
                write!(f, "its packed items cannot be read: {message}")
            }
            Self::Archived => f.write_str(
                "its items are in another collection: reads get them by a handle with its archive \
                 (`with_archive`); for changes, bring them back first (`restore_from`)",
            ),
            Self::Expired { span } => {
                f.write_str("its records are gone, and only its statistics are kept")?;
                match span {
                    Some((first, last)) => write!(f, ", from {first} to {last}"),
                    None => Ok(()),
                }
            }
            Self::NeverStored { path } => write!(
                f,
                "its records are gone, and the model had no `{path}` when it was stored: read only what is newer, or read it by a \
                 struct without that aggregate"
            ),
            Self::Bson(source) => write!(f, "it is not valid BSON: {source}"),
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
