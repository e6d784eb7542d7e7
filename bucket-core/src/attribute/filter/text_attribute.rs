//! Filters on attributes that are stored as text.

use std::{borrow::Cow, fmt};

use bson::{Bson, doc};

use super::{Attribute, AttributeFilter, Unit};
use crate::attribute::{AttributeArray, AttributeValue, value::stored_as_text};

/// An attribute whose values are stored as text. Text does not order as numbers do, so filters only
/// support equality.
///
/// ```
/// use bson::{Document, doc};
/// use bucket_core::attribute::{AttributeArray, EntryNames, TextAttribute, Unit};
///
/// const SPECS: AttributeArray = AttributeArray::new("specs", EntryNames::KVU, &[], None);
/// let volume = TextAttribute::<i32>::new(&SPECS, "volume", Unit::Is("ml"));
/// let entry = doc! { "k": "volume", "u": "ml", "v": { "$eq": "500" } };
/// assert_eq!(Document::from(volume.eq(500)), doc! { "specs": { "$elemMatch": entry } });
/// ```
pub struct TextAttribute<V>(Attribute<V>);

impl<V> Clone for TextAttribute<V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<V> fmt::Debug for TextAttribute<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TextAttribute").field(&self.0).finish()
    }
}

impl<V: AttributeValue> TextAttribute<V> {
    /// The attribute with the key `k` in entries of this array.
    #[must_use]
    pub fn new(
        array: &'static AttributeArray,
        k: impl Into<Cow<'static, str>>,
        unit: Unit,
    ) -> Self {
        Self(Attribute::new(array, k, unit))
    }

    /// Documents that have it.
    pub fn exists(&self) -> AttributeFilter {
        self.0.exists()
    }

    /// Documents that do not have it.
    pub fn is_missing(&self) -> AttributeFilter {
        self.0.is_missing()
    }

    /// Documents in which it is this value.
    pub fn eq(&self, value: impl Into<V>) -> AttributeFilter {
        let text = stored_as_text(&value.into());
        self.0.meets(|_| vec![doc! { "$eq": &text }])
    }

    /// Documents in which it is one of these values.
    pub fn is_in(&self, values: impl IntoIterator<Item = impl Into<V>>) -> AttributeFilter {
        let texts: Vec<Bson> = values
            .into_iter()
            .map(|value| stored_as_text(&value.into()))
            .collect();
        self.0.meets(|_| vec![doc! { "$in": &texts }])
    }
}
