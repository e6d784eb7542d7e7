//! How much some buckets are.

use std::fmt;

use serde::Serialize;

use crate::text::bytes::ShownBytes;

/// Some buckets, their records and their bytes.
///
/// ```
/// # use bucket_core::read::Amount;
/// fn mean_size(of: &Amount) -> Option<u64> {
///     of.bytes.checked_div(of.buckets)
/// }
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Amount {
    /// The number of buckets.
    pub buckets: u64,
    /// The number of their records, without removed ones.
    pub records: u64,
    /// The size of these buckets as BSON, without compression.
    pub bytes: u64,
}

impl Amount {
    pub(super) fn add(&mut self, other: Self) {
        self.buckets = self.buckets.saturating_add(other.buckets);
        self.records = self.records.saturating_add(other.records);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            buckets,
            records,
            bytes,
        } = self;
        write!(
            f,
            "{buckets} buckets, {records} records, {}",
            ShownBytes(*bytes)
        )
    }
}
