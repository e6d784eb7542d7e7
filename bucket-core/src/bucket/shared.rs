//! The arrays of attributes that a bucket holds for its items. An item with different arrays has
//! its own.

use bson::{RawBsonRef, RawDocument, RawDocumentBuf};

use crate::{
    codec::raw::{Element, RawWriter, elements, kind as byte},
    model::{
        attribute_array::{AttributeArray, Rest, ValueKind},
        spec::BucketSpec,
    },
};

/// An item in two parts.
#[derive(Debug)]
pub(crate) struct SplitItem<'a> {
    /// The fields that the item always keeps.
    pub(crate) own: RawDocumentBuf,
    /// The arrays that the bucket may hold for it, in the order of the model.
    pub(crate) shared: Vec<Element<'a>>,
}

impl<'a> SplitItem<'a> {
    /// Splits an encoded item.
    pub(crate) fn new(spec: &BucketSpec, item: &'a RawDocument) -> Self {
        let mut shared = Vec::new();
        let own = RawWriter::build(|to| {
            // The encoder made it, so every element is valid.
            for element in elements(item).map_while(Result::ok) {
                if spec.shared_arrays().any(|array| array.name == element.name) {
                    shared.push(element);
                } else {
                    to.raw(element.kind, element.name, element.bytes);
                }
            }
        });
        Self { own, shared }
    }

    /// Whether one bucket can hold the arrays of both.
    pub(crate) fn shares_with(&self, other: &Self) -> bool {
        let bytes = |element: &Element<'a>| element.bytes;
        let own = self.shared.iter().map(bytes);
        own.eq(other.shared.iter().map(bytes))
    }
}

/// Writes a bucket's items, preceded by the shared arrays of the first one.
pub(crate) fn write_all(items: &[SplitItem<'_>], name: &str, to: &mut RawWriter) {
    let Some(first) = items.first() else {
        let none = to.begin_array(name);
        return to.end(none);
    };
    for array in &first.shared {
        to.raw(array.kind, array.name, array.bytes);
    }
    let array = to.begin_array(name);
    for (index, item) in items.iter().enumerate() {
        let element = to.begin_element(index);
        for own in elements(&item.own).map_while(Result::ok) {
            to.raw(own.kind, own.name, own.bytes);
        }
        for (array, held) in item.shared.iter().zip(&first.shared) {
            if array.bytes != held.bytes {
                to.raw(array.kind, array.name, array.bytes);
            }
        }
        to.end(element);
    }
    to.end(array);
}

/// Whether equality on the server means equality to the bit for this array. It does not where
/// numbers may have several types. Nor does it for zeros, which have two signs, or for decimals,
/// which have several forms of one number.
pub(crate) fn has_exact_equality(spec: &BucketSpec, array: &Element<'_>) -> bool {
    let mut shared = spec.shared_arrays();
    let is_mixed = shared
        .find(|of| of.name == array.name)
        .is_none_or(has_mixed_types);
    array.entries().is_ok_and(|mut entries| {
        entries.all(|entry| entry.is_ok_and(|entry| is_exact(&entry, is_mixed)))
    })
}

fn has_mixed_types(array: &AttributeArray) -> bool {
    let mut fields = array.fields.iter();
    let of_rest = match array.rest {
        None => false,
        Some(Rest::Map { kind, .. }) => kind == ValueKind::Any,
        Some(Rest::Entries { .. }) => true,
    };
    of_rest || fields.any(|field| field.kind == ValueKind::Any)
}

fn is_exact(element: &Element<'_>, is_mixed: bool) -> bool {
    let all = |document: &RawDocument| {
        let mut inner = elements(document);
        inner.all(|inner| inner.is_ok_and(|inner| is_exact(&inner, is_mixed)))
    };
    match element.value {
        RawBsonRef::Int32(_) | RawBsonRef::Int64(_) => !is_mixed,
        RawBsonRef::Double(number) => !is_mixed && number != 0.0 && !number.is_nan(),
        RawBsonRef::Document(inner) => all(inner),
        _ if element.is_array() => RawDocument::from_bytes(element.bytes).is_ok_and(all),
        _ => matches!(
            element.kind,
            byte::STRING | byte::BOOLEAN | byte::DATE | byte::OBJECT_ID | byte::NULL
        ),
    }
}
