//! What a call has moved.

use std::fmt;

use bucket_core::DamagedBucket;

/// What [`Buckets::archive_to`](crate::Buckets::archive_to) or [`Buckets::restore_from`](crate::Buckets::restore_from) has
/// moved, or would move.
///
/// ```
/// fn print(report: &bucket_mongo::ArchiveReport) {
///     // archived the items of 120 buckets: 43200 records, 172800 bytes
///     println!("{report}");
/// }
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ArchiveReport {
    /// The number of buckets whose items were moved.
    pub buckets: u64,
    /// The number of their records, with the marks of removed ones.
    pub records: u64,
    /// The size of their packed items, in bytes.
    pub bytes: u64,
    /// The number of buckets that another writer changed meanwhile: another call takes them.
    pub changed: u64,
    /// The number of damaged buckets, which stay as they are.
    pub damaged: u64,
    /// The first of them, at most 100.
    pub damages: Vec<DamagedBucket>,
    pub(super) is_restored: bool,
}

/// How many damages are kept.
const KEPT: usize = 100;

impl ArchiveReport {
    pub(super) fn damaged(&mut self, damage: DamagedBucket) {
        self.damaged += 1;
        if self.damages.len() < KEPT {
            self.damages.push(damage);
        }
    }
}

impl fmt::Display for ArchiveReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            buckets,
            records,
            bytes,
            ..
        } = self;
        let done = if self.is_restored {
            "restored"
        } else {
            "archived"
        };
        write!(
            f,
            "{done} the items of {buckets} buckets: {records} records, {bytes} bytes"
        )?;
        let rest = [
            (self.changed, "were changed by others meanwhile"),
            (self.damaged, "are damaged: call `verify()`"),
        ];
        for (count, what) in rest.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, "; {count} {what}")?;
        }
        Ok(())
    }
}
