//! A bucket with its items as rows, however they are stored.

use std::borrow::Cow;

use bson::RawDocument;

use super::sealed::{SEALED, packed, unsealed};
use crate::{codec::raw::printed_id, error::DamagedBucket, model::spec::BucketSpec};

/// A stored bucket with its items as rows.
#[derive(Debug)]
pub struct BucketRows<'a> {
    pub(crate) rows: Cow<'a, RawDocument>,
    /// The items as they are stored, if they are packed.
    pub(crate) packed: Option<&'a [u8]>,
    /// What the bucket says of that.
    pub(crate) sealed: Option<&'a RawDocument>,
}

impl<'a> BucketRows<'a> {
    /// Unpacks the items, if they are packed.
    ///
    /// # Errors
    ///
    /// [`DamagedBucket`] if that cannot be done.
    pub fn of(spec: &BucketSpec, stored: &'a RawDocument) -> Result<Self, DamagedBucket> {
        let rows = unsealed(spec, stored);
        Ok(Self {
            rows: rows.map_err(|damage| DamagedBucket::new(printed_id(stored), damage))?,
            packed: packed(spec.items(), stored),
            sealed: stored.get_document(SEALED).ok(),
        })
    }
}
