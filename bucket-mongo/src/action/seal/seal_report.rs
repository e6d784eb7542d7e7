//! What a call has sealed or unsealed.

use std::fmt;

use bucket_core::DamagedBucket;

/// What [`Buckets::seal`](crate::Buckets::seal), [`Buckets::unseal`](crate::Buckets::unseal) or
/// [`Buckets::expire_records`](crate::Buckets::expire_records) has done, or would do.
///
/// ```
/// fn print(report: &bucket_mongo::SealReport) {
///     // sealed 120 buckets with 24000 records: from 1214400 bytes to 98304; 2 stay as they are
///     println!("{report}");
/// }
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SealReport {
    /// The number of buckets that were sealed, got their rows back, or lost their records because these have expired.
    pub buckets: u64,
    /// The number of their records, with the marks of removed ones. If another call was at work in the same place, the share of this
    /// one: together they count what there is.
    pub records: u64,
    /// The size of the items of the same buckets before, in bytes of BSON: the server compresses them further.
    pub bytes_before: u64,
    /// Their size after.
    pub bytes_after: u64,
    /// The number of buckets that stay as they are, because they would not be smaller, have more than 8 MB, or
    /// have values outside their own smallest and largest ones. Of those whose records have expired: whose statistics
    /// are not those of their records, or are missing ([`verify`](crate::Buckets::verify) says which, and
    /// [`repair`](crate::Buckets::repair) mends them), or that have a record that has not expired.
    pub stay: u64,
    /// The number of buckets that another writer changed before their statement came: another call takes them.
    pub changed: u64,
    /// The number of damaged buckets, which stay as they are.
    pub damaged: u64,
    /// The first of them, at most 100.
    pub damages: Vec<DamagedBucket>,
    pub(super) done: Done,
}

/// What was done to the buckets.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Done {
    #[default]
    Sealed,
    Unsealed,
    Expired,
}

/// How many damages are kept.
const KEPT: usize = 100;

impl SealReport {
    pub(super) fn damaged(&mut self, damage: DamagedBucket) {
        self.damaged += 1;
        if self.damages.len() < KEPT {
            self.damages.push(damage);
        }
    }

    /// Adds what a walk has done.
    pub(super) fn adds(&mut self, walk: &Self) {
        self.buckets += walk.buckets;
        self.records += walk.records;
        self.bytes_before += walk.bytes_before;
        self.bytes_after += walk.bytes_after;
        self.changed += walk.changed;
    }

    /// Takes what a walk over the whole collection has left instead of what an earlier one had.
    pub(super) fn has_left(&mut self, walk: Self) {
        self.stay = walk.stay;
        self.damaged = walk.damaged;
        self.damages = walk.damages;
    }

    /// Adds the buckets that stay as they are.
    pub(super) fn leaves(&mut self, left: Self) {
        self.stay += left.stay;
        self.damaged += left.damaged;
        self.damages.extend(left.damages);
        self.damages.truncate(KEPT);
    }
}

impl fmt::Display for SealReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            buckets,
            records,
            bytes_before,
            bytes_after,
            ..
        } = self;
        let done = match self.done {
            Done::Sealed => "sealed",
            Done::Unsealed => "unsealed",
            Done::Expired => "removed the records of",
        };
        // Of buckets that were sent together, it is known only how many were changed before.
        let up_to = if self.changed > 0 { "up to " } else { "" };
        write!(
            f,
            "{done} {buckets} buckets with {up_to}{records} records: from {bytes_before} bytes to {bytes_after}"
        )?;
        let rest = [
            (self.stay, "stay as they are"),
            (self.changed, "were changed by others meanwhile"),
            (self.damaged, "are damaged: call `verify()`"),
        ];
        for (count, what) in rest.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, "; {count} {what}")?;
        }
        Ok(())
    }
}
