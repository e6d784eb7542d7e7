//! The arrays of attributes that a bucket holds for its items: an item with other ones has its own.

use bson::{RawDocument, RawDocumentBuf};

use crate::{
    attribute::{Element, elements},
    raw::RawWriter,
    spec::BucketSpec,
};

/// An item in two parts.
#[derive(Debug)]
pub(crate) struct SplitItem<'a> {
    /// The fields that stand in the item whatever the bucket holds.
    pub(crate) own: RawDocumentBuf,
    /// The arrays that the bucket may hold for it, in the order of the model.
    pub(crate) shared: Vec<Element<'a>>,
}

impl<'a> SplitItem<'a> {
    /// The parts of an item as it is encoded.
    pub(crate) fn new(spec: &BucketSpec, item: &'a RawDocument) -> Self {
        let mut shared = Vec::new();
        let own = RawWriter::build(|to| {
            // The encoder made it: every element is valid.
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
        let each = |item: &Self| -> Vec<&'a [u8]> {
            let shared = item.shared.iter();
            shared.map(|element| element.bytes).collect()
        };
        each(self) == each(other)
    }
}

/// Writes a bucket's items, and before them what it holds for them: that of the first one.
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
