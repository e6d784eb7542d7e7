//! A record with its bucket and its place in it.

use crate::bucket::id::BucketId;

/// A record with its bucket and its place in it, which it keeps as long as it is stored.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct InBucket<T> {
    /// The bucket.
    pub bucket: BucketId<T>,
    /// The index in the array of the bucket.
    pub index: u32,
    /// The record.
    pub record: T,
}
