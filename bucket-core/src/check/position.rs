//! Where a walk over the buckets of a collection is.

use std::{fmt, str::FromStr};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use bson::{Bson, Document, RawDocument};
use serde::{Deserialize, Serialize};

use crate::model::{
    form::OrderedBy,
    spec::{BucketSpec, ID},
};

/// The last document up to which a `verify` has reported all that is wrong, from which another one goes on.
///
/// It contains the document's key and id, as text without spaces.
///
/// ```
/// use bucket_core::check::CheckPosition;
///
/// assert!("not one".parse::<CheckPosition>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CheckPosition {
    text: String,
}

/// A text that is no [`CheckPosition`], or one of another model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PositionError {
    /// It is no position.
    Malformed,
    /// It belongs to a model with another key, or with buckets in another order.
    OtherModel,
}

impl fmt::Display for PositionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "this is not a position of `verify`, or only a part of one",
            Self::OtherModel => {
                "the position belongs to a model with another key, or with buckets in another order"
            }
        })
    }
}

impl std::error::Error for PositionError {}

/// The fields of the index that the walk follows.
pub(crate) fn index_fields(spec: &BucketSpec) -> Vec<(&'static str, i32)> {
    let names = spec.names();
    let order: &[(&'static str, i32)] = match spec.ordered_by() {
        OrderedBy::Id => &[(ID, 1)],
        OrderedBy::Start => &[(names.start, 1), (names.part, 1)],
        OrderedBy::Number => &[(names.number, -1)],
    };
    let keys = spec.keys().iter().map(|key| (key.path, 1));
    keys.chain(order.iter().copied()).collect()
}

/// The order of that index.
pub(crate) fn index_order(spec: &BucketSpec) -> Document {
    let order = index_fields(spec).into_iter();
    let order = order.map(|(name, direction)| (name.to_owned(), Bson::Int32(direction)));
    order.collect()
}

/// The values of these fields; `None` if one of them is an array, which has several places in the
/// index, or cannot be read.
pub(super) fn values(spec: &BucketSpec, stored: &RawDocument) -> Option<Document> {
    let mut values = Document::new();
    for (name, _) in index_fields(spec) {
        let value = match stored.get(name).ok()? {
            // As the index has it.
            None => Bson::Null,
            Some(value) => Bson::try_from(value).ok()?,
        };
        if matches!(value, Bson::Array(_) | Bson::Undefined) {
            return None;
        }
        values.insert(name, value);
    }
    Some(values)
}

/// The place before the first bucket of the key at this place.
pub(super) fn first_of_key(spec: &BucketSpec, place: &Document) -> Document {
    let mut first = place.clone();
    for (name, direction) in index_fields(spec).into_iter().skip(spec.keys().len()) {
        let least = if direction > 0 {
            Bson::MinKey
        } else {
            Bson::MaxKey
        };
        first.insert(name, least);
    }
    first
}

impl CheckPosition {
    pub(super) fn of(values: &Document) -> Option<Self> {
        let bytes = values.to_vec().ok()?;
        let text = BASE64_URL_SAFE_NO_PAD.encode(bytes);
        Some(Self { text })
    }

    /// The values of the index's fields.
    pub(super) fn values(&self, spec: &BucketSpec) -> Result<Document, PositionError> {
        let values = decoded(&self.text)?;
        let fields = index_fields(spec);
        let names = fields.iter().map(|(name, _)| *name);
        if values.keys().map(String::as_str).eq(names) {
            Ok(values)
        } else {
            Err(PositionError::OtherModel)
        }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

fn decoded(text: &str) -> Result<Document, PositionError> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(text);
    let bytes = bytes.map_err(|_| PositionError::Malformed)?;
    let raw = RawDocument::from_bytes(&bytes).map_err(|_| PositionError::Malformed)?;
    Document::try_from(raw).map_err(|_| PositionError::Malformed)
}

impl fmt::Display for CheckPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for CheckPosition {
    type Err = PositionError;

    fn from_str(text: &str) -> Result<Self, PositionError> {
        decoded(text)?;
        Ok(Self {
            text: text.to_owned(),
        })
    }
}

impl TryFrom<String> for CheckPosition {
    type Error = PositionError;

    fn try_from(text: String) -> Result<Self, PositionError> {
        text.parse()
    }
}

impl From<CheckPosition> for String {
    fn from(position: CheckPosition) -> Self {
        position.text
    }
}
