//! The items of a stored bucket, in the form that their own serde implementation reads.

use std::borrow::Cow;

use bson::{DateTime, RawArray, RawBsonRef, RawDocument};
use serde::de::DeserializeOwned;

use super::{
    edits::{Edits, is_removed},
    head::{field, wrong_field},
    id::Place,
    merged::Origins,
    packed::PackedItems,
};
use crate::{
    attribute::{SharedArray, fold_item, unfold_with},
    codec::{
        decode::decode,
        raw::{Element, elements},
    },
    error::{AttributeError, Damage},
    model::spec::{BucketSpec, ID},
};

/// The items of a stored bucket.
pub(crate) fn items<'a>(
    spec: &BucketSpec,
    stored: &'a RawDocument,
) -> Result<&'a RawArray, Damage> {
    match field(stored, spec.items())? {
        Some(RawBsonRef::Array(array)) => Ok(array),
        _ => Err(wrong_field(spec.items(), "an array")),
    }
}

/// The time of a stored item. It is a date, whatever its type in the record.
pub(crate) fn item_time(
    spec: &BucketSpec,
    index: usize,
    item: RawBsonRef<'_>,
) -> Result<DateTime, Damage> {
    let time = match item {
        RawBsonRef::Document(item) => field(item, spec.time().name)?,
        _ => None,
    };
    time.and_then(RawBsonRef::as_datetime).ok_or_else(|| {
        let path = format!("{}.{index}.{}", spec.items(), spec.time().name);
        wrong_field(&path, "a date")
    })
}

/// Reads the items of one bucket.
#[derive(Debug)]
pub(crate) struct ItemReader<'a> {
    spec: &'static BucketSpec,
    /// The arrays of attributes that the bucket holds for items without their own.
    shared: Vec<SharedArray<'a>>,
    edits: Edits,
    place: Option<Place>,
    /// Where the items came from, if the bucket is merged.
    origins: Option<Origins>,
    stored: &'a RawDocument,
}

impl<'a> ItemReader<'a> {
    /// The reader for the items of this bucket.
    pub(crate) fn new(spec: &'static BucketSpec, stored: &'a RawDocument) -> Result<Self, Damage> {
        let mut shared = Vec::new();
        if spec.shared_arrays().next().is_some() {
            for element in elements(stored) {
                let element = element.map_err(|fault| Damage::Attribute {
                    index: None,
                    source: AttributeError::of_all(spec.arrays(), fault),
                })?;
                let mut arrays = spec.shared_arrays();
                if let Some(array) = arrays.find(|array| array.name == element.name) {
                    shared.push(SharedArray::new(array, element));
                }
            }
        }
        Ok(Self {
            spec,
            shared,
            edits: Edits::read(stored)?,
            place: None,
            origins: Origins::read(spec, stored)?,
            stored,
        })
    }

    /// Sets the position of the bucket, which references to its records need.
    pub(crate) const fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// The position of the bucket that an item was stored in, and its index there; `None` if that of this bucket was not set.
    #[inline]
    pub(crate) fn place_of(&self, index: usize) -> Option<(Place, u32)> {
        // A document has at most 16 MB.
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        match &self.origins {
            None => Some((self.place?, index)),
            Some(origins) => origins.place_of(index),
        }
    }

    /// Where the items came from, if the bucket is merged.
    pub(crate) const fn origins(&self) -> Option<&Origins> {
        self.origins.as_ref()
    }

    /// The `_id` of the bucket.
    pub(crate) fn id(&self) -> Result<RawBsonRef<'a>, Damage> {
        field(self.stored, ID)?.ok_or_else(|| wrong_field(ID, "an id of the model"))
    }

    /// What the bucket holds for items without their own.
    pub(crate) fn shared_arrays(&self) -> &[SharedArray<'a>] {
        &self.shared
    }

    /// The arrays that the bucket holds for this item, by their names.
    pub(crate) fn held_for(&self, item: &RawDocument) -> Vec<Element<'a>> {
        let has = |name: &str| matches!(item.get(name), Ok(Some(_)));
        // An item that is older than the arrays has its attributes as plain fields.
        let has_own = |held: &Element<'a>| {
            let mut arrays = self.spec.shared_arrays();
            let array = arrays.find(|array| array.name == held.name);
            has(held.name) || array.is_some_and(|array| array.field_names().any(has))
        };
        let held = self.shared.iter().map(|array| array.element);
        let mut held: Vec<Element<'a>> = held.filter(|held| !has_own(held)).collect();
        held.sort_by_key(|held| held.name);
        held
    }

    /// The edits of the bucket.
    pub(crate) const fn edits(&self) -> Edits {
        self.edits
    }

    /// Whether the item is in the place of a removed record. Only buckets that count removed records
    /// have such items, so others are not searched for the mark.
    #[inline]
    pub(crate) fn is_removed(&self, item: RawBsonRef<'_>) -> bool {
        self.edits.removed > 0 && matches!(item, RawBsonRef::Document(item) if is_removed(item))
    }

    /// The item at this index of the array.
    pub(crate) fn decode<D: DeserializeOwned>(
        &self,
        index: usize,
        item: RawBsonRef<'_>,
    ) -> Result<D, Damage> {
        let RawBsonRef::Document(item) = item else {
            let path = format!("{}.{index}", self.spec.items());
            return Err(wrong_field(&path, "a document"));
        };
        let damaged = |source: bson::error::Error| Damage::Item {
            index,
            source: source.into(),
        };
        let arrays = self.spec.arrays();
        if arrays.is_empty() {
            return decode(item.as_bytes()).map_err(damaged);
        }
        let fields = unfold_with(arrays, item, &self.shared);
        let fields = fields.map_err(|source| {
            let is_own = |array: &SharedArray<'_>| {
                let name = array.element.name;
                name != source.array || matches!(item.get(name), Ok(Some(_)))
            };
            Damage::Attribute {
                index: self.shared.iter().all(is_own).then_some(index),
                source,
            }
        })?;
        decode(fields.as_bytes()).map_err(damaged)
    }

    /// The next of packed items, which has this index, if it can be decoded without being put together. Not of a bucket
    /// that has removed records.
    #[inline]
    pub(crate) fn decode_packed<D: DeserializeOwned>(
        &self,
        index: usize,
        items: &mut PackedItems<'_>,
    ) -> Option<Result<D, Damage>> {
        if self.edits.removed > 0 || !self.spec.arrays().is_empty() {
            return None;
        }
        let decoded = items.decode()?;
        Some(decoded.map_err(|source| Damage::Item {
            index,
            source: source.into(),
        }))
    }

    /// The array of this name that the bucket holds for its items.
    pub(crate) fn shared(&self, name: &str) -> Option<Element<'a>> {
        let mut shared = self.shared.iter().map(|array| array.element);
        shared.find(|element| element.name == name)
    }

    /// The item as the encoder would make it from its record: with the arrays that the bucket holds
    /// for it, and with its attributes in arrays, even if the item is older than the arrays.
    pub(crate) fn encoded<'i>(&self, item: &'i RawDocument) -> Cow<'i, RawDocument> {
        let arrays = self.spec.arrays();
        if arrays.is_empty() {
            return Cow::Borrowed(item);
        }
        let fields = unfold_with(arrays, item, &self.shared);
        let encoded = fields.and_then(|fields| fold_item(arrays, &fields));
        // A damaged item equals no other item.
        encoded.map_or(Cow::Borrowed(item), Cow::Owned)
    }
}
