//! What a part of an export has.

/// What a part has.
///
/// ```
/// assert_eq!(bucket_arrow::PartitionBy::default(), bucket_arrow::PartitionBy::KeyAndMonth);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum PartitionBy {
    /// The records of a key in a month of UTC.
    #[default]
    KeyAndMonth,
    /// All records of a key.
    Key,
}
