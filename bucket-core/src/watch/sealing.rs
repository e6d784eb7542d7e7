//! What an update says of sealed buckets.
//!
//! Sealing and unsealing replace all items and change no record. An edit of a sealed bucket replaces them
//! too: it says which of them it has changed.

use std::borrow::Cow;

use bson::{RawBsonRef, RawDocument};

use super::raw_change::{is_at_or_in, updated_fields};
use crate::{
    bucket::{
        sealed::{EDIT, PLACES, SEALED},
        unsealed,
    },
    error::Damage,
    model::{spec::BucketSpec, whole},
};

/// What an update did to a bucket that is or was sealed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum Sealing {
    /// It is about something else.
    #[default]
    Nothing,
    /// It has sealed or unsealed the bucket, whose records are the same.
    Same,
    /// It has changed the items at these places.
    Edit(Vec<u32>),
    /// It does not say what it did.
    Unclear,
}

impl Sealing {
    /// Reads the updated fields.
    pub(super) fn read(updated: &RawDocument) -> Self {
        let mut fields = updated.into_iter().map_while(Result::ok);
        let of = fields.find(|(path, _)| is_at_or_in(path.as_str(), SEALED));
        let Some((path, RawBsonRef::Document(sealed))) = of else {
            return of.map_or(Self::Nothing, |_| Self::Unclear);
        };
        if path.as_str() != SEALED {
            return Self::Unclear;
        }
        match sealed.get(EDIT) {
            Ok(None) => Self::Same,
            Ok(Some(RawBsonRef::Document(edit))) => places(edit).map_or(Self::Unclear, Self::Edit),
            _ => Self::Unclear,
        }
    }
}

fn places(edit: &RawDocument) -> Option<Vec<u32>> {
    let places = edit.get_array(PLACES).ok()?;
    let places = places.into_iter();
    places
        .map(|place| u32::try_from(whole::of_raw(place.ok()?)?).ok())
        .collect()
}

/// The updated fields, with items that an edit has packed as rows.
pub(super) fn unpacked<'a>(
    spec: &BucketSpec,
    update: &'a RawDocument,
) -> Result<Cow<'a, RawDocument>, Damage> {
    let updated = updated_fields(update)?;
    match Sealing::read(updated) {
        Sealing::Edit(_) => unsealed(spec, updated),
        _ => Ok(Cow::Borrowed(updated)),
    }
}
