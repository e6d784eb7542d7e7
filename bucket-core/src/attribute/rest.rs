//! Where entries without a field in the struct are kept.

use std::collections::{BTreeMap, HashMap};

use bson::{Bson, RawBson};
use serde::{Deserialize, Serialize};

use super::{AttributeValue, ValueKind};

/// A type that can keep the rest of an array: a map from keys to values, or [`OtherEntries`].
///
/// ```
/// use std::collections::BTreeMap;
///
/// use bucket_core::attribute::{AttributeRest, OtherEntries, ValueKind};
///
/// assert_eq!(<BTreeMap<String, f64>>::KIND, Some(ValueKind::Double));
/// assert_eq!(OtherEntries::KIND, None);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot keep the other entries of an array",
    label = "the rest of an array is a map from keys to values, or `OtherEntries`",
    note = "`BTreeMap<String, V>` keeps entries without units whose values are `V`; `OtherEntries` keeps all"
)]
pub trait AttributeRest {
    /// The type of the map's values; `None` if entries keep their stored form.
    const KIND: Option<ValueKind>;
    /// The type that filters compare with.
    type Value: AttributeValue;
}

impl<V: AttributeValue> AttributeRest for BTreeMap<String, V> {
    const KIND: Option<ValueKind> = Some(V::KIND);
    type Value = V::Value;
}

impl<V: AttributeValue, S> AttributeRest for HashMap<String, V, S> {
    const KIND: Option<ValueKind> = Some(V::KIND);
    type Value = V::Value;
}

/// Entries of an array in their stored form, of any shape: unknown keys and units, further values
/// of a key, values of other types. A struct with this field loses no entry of the array.
///
/// ```
/// use bucket_core::attribute::OtherEntries;
///
/// assert!(OtherEntries::default().is_empty());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OtherEntries(pub Vec<RawBson>);

impl OtherEntries {
    /// Whether it has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl AttributeRest for OtherEntries {
    const KIND: Option<ValueKind> = None;
    type Value = Bson;
}
