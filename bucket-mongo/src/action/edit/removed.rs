//! What a removal of many records did.

/// What a removal of many records did, or would do.
///
/// ```
/// fn describe(removed: bucket_mongo::action::Removed) -> String {
///     format!("{} records of {} buckets", removed.records, removed.buckets)
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Removed {
    /// The number of records that were removed.
    pub records: u64,
    /// The number of buckets that they were in.
    pub buckets: u64,
    /// Of [`delete_key`](crate::Buckets::delete_key): the number of buckets that were removed from the quarantine of
    /// [`repair`](crate::Buckets::repair). Their records are not counted. 0 of other removals.
    pub quarantined: u64,
    /// Of [`delete_key`](crate::Buckets::delete_key): the number of copies of buckets that were removed from the archive. Those
    /// that no bucket referred to any more count too. Of several calls at a time, more than one may count a copy in a file.
    /// 0 of other removals.
    pub archived: u64,
}
