//! How much a limit would remove.

use bson::DateTime;

/// What the server would remove under the model's limit.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Removal {
    /// Every record of these buckets is from this time or earlier.
    pub until: DateTime,
    /// The number of buckets.
    pub buckets: u64,
    /// The number of their records.
    pub records: u64,
}
