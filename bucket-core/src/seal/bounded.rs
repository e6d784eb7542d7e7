//! Whether the smallest and largest values that a bucket stores are those of its items.
//!
//! Reads with a filter leave sealed buckets out by them. A bucket from before the model had such an aggregate, to which
//! later records were added, has that of the later ones only: it stays as rows until `repair` has corrected it.

use bson::{RawBsonRef, RawDocument};

use crate::{
    model::{measure::Number, spec::BucketSpec},
    stats::at_path,
};

/// Whether the values of these items are within all bounds that the bucket stores.
pub(super) fn are_bounded(spec: &BucketSpec, stored: &RawDocument, items: &[&RawDocument]) -> bool {
    spec.bounds().all(|of| {
        let smallest = bound(stored, of.smallest);
        let largest = bound(stored, of.largest);
        let (Ok(smallest), Ok(largest)) = (smallest, largest) else {
            return false;
        };
        items.iter().all(|item| match item.get(of.name) {
            Ok(None | Some(RawBsonRef::Null)) => true,
            Ok(Some(value)) => number(value).is_some_and(|value| {
                smallest.is_none_or(|bound| bound.compare(value).is_le())
                    && largest.is_none_or(|bound| bound.compare(value).is_ge())
            }),
            Err(_) => false,
        })
    })
}

/// The number at a path, if anything is there; an error if that is no number.
fn bound(stored: &RawDocument, path: Option<&str>) -> Result<Option<Number>, ()> {
    let Some(path) = path else {
        return Ok(None);
    };
    match at_path(stored, path)? {
        None => Ok(None),
        Some(value) => number(value).map(Some).ok_or(()),
    }
}

fn number(value: RawBsonRef<'_>) -> Option<Number> {
    match value {
        RawBsonRef::Int32(value) => Some(Number::Int(value.into())),
        RawBsonRef::Int64(value) => Some(Number::Int(value)),
        RawBsonRef::Double(value) => Some(Number::Float(value)),
        _ => None,
    }
}
