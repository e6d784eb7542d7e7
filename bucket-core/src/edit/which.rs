//! The record that an edit is about.

use bson::Bson;
use serde::Serialize;

use crate::{
    bucket::record::Record,
    error::EncodeError,
    read::{self, FindPlan, ReadKey, RecordRef, TokenError},
    write::unchecked_item,
};

/// Which record of a key an edit is about: one with this record id, or one that was read with a reference.
///
/// ```
/// use bucket_core::{RecordRef, Which};
///
/// let by_id = Which::id(&"payment-7");
/// let by_reference = Which::from(RecordRef::from("AbC-_"));
/// # drop((by_id, by_reference));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Which(pub(super) Sought);

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Sought {
    /// As serde writes the id.
    Id(Bson),
    Reference(RecordRef),
    /// The id cannot be encoded, for this reason.
    Unreadable(String),
}

/// Why a search for a record cannot begin.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhichError {
    /// The model has no record ids.
    NoIds,
    /// The id cannot be encoded, for this reason.
    Id(String),
    /// The reference cannot be used here.
    Reference(TokenError),
}

impl Which {
    /// The record with this id: a value of the type of the field with `#[bucket(unique)]`, or one that serde
    /// writes in the same way, such as a `&str` for a `String`.
    #[must_use]
    pub fn id<I: Serialize + ?Sized>(id: &I) -> Self {
        Self(match bson::serialize_to_bson(id) {
            Ok(id) => Sought::Id(id),
            Err(error) => Sought::Unreadable(error.to_string()),
        })
    }

    /// The stored record with the id of this one.
    ///
    /// # Errors
    ///
    /// [`EncodeError`] if the record cannot be stored.
    #[doc(hidden)]
    pub fn of<T: Record>(record: &T) -> Result<Self, EncodeError> {
        let item = unchecked_item(record)?;
        let name = T::SPEC.unique().unwrap_or_default();
        let id = item.get(name).ok().flatten();
        // The item is valid BSON, and the id of a record cannot be absent.
        let id = id.and_then(|id| Bson::try_from(id).ok());
        Ok(Self(Sought::Id(id.unwrap_or(Bson::Null))))
    }

    /// The find for the bucket with the record.
    ///
    /// # Errors
    ///
    /// [`WhichError`] if there can be no such record.
    #[doc(hidden)]
    pub fn find<T: Record>(&self, key: &T::Key) -> Result<FindPlan, WhichError> {
        let key = ReadKey::of::<T>(key);
        match &self.0 {
            Sought::Id(_) if T::SPEC.unique().is_none() => Err(WhichError::NoIds),
            Sought::Id(id) => Ok(read::bucket_with(T::SPEC, key.elements(), id)),
            Sought::Unreadable(message) => Err(WhichError::Id(message.clone())),
            Sought::Reference(reference) => {
                let target = reference.target(T::SPEC, &key);
                let target = target.map_err(WhichError::Reference)?;
                Ok(read::bucket_at(T::SPEC, &key, target.place))
            }
        }
    }
}

impl From<RecordRef> for Which {
    fn from(reference: RecordRef) -> Self {
        Self(Sought::Reference(reference))
    }
}

impl From<&RecordRef> for Which {
    fn from(reference: &RecordRef) -> Self {
        reference.clone().into()
    }
}

impl From<&Self> for Which {
    fn from(which: &Self) -> Self {
        which.clone()
    }
}

impl std::fmt::Display for WhichError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoIds => f.write_str(
                "the model has no record ids: put `#[bucket(unique)]` on a field, or read the record with \
                 `with_refs()` and use its reference",
            ),
            Self::Id(message) => write!(f, "the record id cannot be encoded: {message}"),
            Self::Reference(TokenError::OtherQuery) => {
                f.write_str("the reference belongs to a record of another key or model")
            }
            Self::Reference(TokenError::Version { version }) => write!(
                f,
                "the reference has version {version}, which this release cannot read"
            ),
            Self::Reference(_) => {
                f.write_str("this is not a reference to a record, or only a part of one")
            }
        }
    }
}
