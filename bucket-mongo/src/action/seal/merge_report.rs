//! What a merge has done.

use std::fmt;

/// What [`merge`](crate::Buckets::merge) has done, or would do.
///
/// ```
/// fn average(report: &bucket_mongo::MergeReport) -> u64 {
///     report.records.checked_div(report.merged).unwrap_or_default()
/// }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MergeReport {
    /// The number of sealed buckets, or parts of windows, that became one with others.
    pub buckets: u64,
    /// The number of buckets that they became.
    pub merged: u64,
    /// The number of their records, with the marks of removed ones.
    pub records: u64,
    /// The size of the buckets before, in bytes of BSON.
    pub bytes_before: u64,
    /// Their size after.
    pub bytes_after: u64,
    /// The number of buckets that were chosen for a merge and stay as they are: they have more than 4 MB, or 12 MB of records, or
    /// one of them has damaged items or lacks an aggregate ([`verify`](crate::Buckets::verify) says which). Buckets that were not
    /// chosen are not counted: those that are damaged otherwise, and those after them in their window.
    pub stay: u64,
    /// The number of buckets that another writer changed meanwhile: another call takes them.
    pub changed: u64,
    /// The number of buckets that did not say since when they take no more records, and do now. A later call merges them.
    pub dated: u64,
}

impl MergeReport {
    /// Adds what another walk has done.
    pub(super) fn adds(&mut self, walk: &Self) {
        // Each walk meets those that stay.
        self.stay = 0;
        self.goes_on(walk);
    }

    /// Adds what the same walk has done since.
    pub(super) fn goes_on(&mut self, since: &Self) {
        self.buckets += since.buckets;
        self.merged += since.merged;
        self.records += since.records;
        self.bytes_before += since.bytes_before;
        self.bytes_after += since.bytes_after;
        self.stay += since.stay;
        self.changed += since.changed;
        self.dated += since.dated;
    }
}

impl fmt::Display for MergeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            buckets,
            merged,
            records,
            bytes_before,
            bytes_after,
            stay,
            changed,
            dated,
        } = self;
        write!(
            f,
            "merged {buckets} buckets with {records} records into {merged}: from {bytes_before} bytes to {bytes_after}"
        )?;
        let rest = [
            (stay, "stay as they are"),
            (changed, "were changed by others meanwhile"),
            (
                dated,
                "say now since when they take no more records, and are merged later",
            ),
        ];
        for (count, what) in rest.into_iter().filter(|(count, _)| **count > 0) {
            write!(f, "; {count} {what}")?;
        }
        Ok(())
    }
}
