//! What a `repair` did.

use std::fmt;

use bucket_core::check::Problem;
use mongodb::bson::{Bson, Document};
use serde::Serialize;

use crate::Error;

/// What [`Buckets::repair`](crate::Buckets::repair) did, or would do.
///
/// It prints as a short text, one line per bucket that it kept, and serialises with serde.
///
/// ```
/// fn needs_a_person(report: &bucket_mongo::RepairReport) -> bool {
///     report.quarantined + report.left + report.changed + report.not_kept > 0
/// }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RepairReport {
    /// Whether nothing was changed.
    pub is_dry: bool,
    /// The name of the collection for buckets that cannot be mended.
    pub quarantine: String,
    /// The number of buckets that were mended.
    pub mended: u64,
    /// The number of buckets that were moved into the quarantine.
    pub quarantined: u64,
    /// The number of buckets with something that is still wrong: it does no harm, only a person can decide, or the
    /// server refused the statement. A bucket may be mended and still have something left.
    pub left: u64,
    /// The number of buckets that others changed at every attempt. They are as the others left them.
    pub changed: u64,
    /// The number of buckets with nothing to repair: they were repaired, changed or removed since they were found.
    pub fine: u64,
    /// The number of findings that the report of the check counts but did not keep. They were not looked at.
    pub not_kept: u64,
    /// The names of the missing indexes that were created.
    pub created_indexes: Vec<String>,
    /// Where the indexes still differ from the model's, and why one could not be built. As the check reported it, if
    /// the user may not list them.
    pub indexes: Vec<String>,
    /// The first buckets that were not fine, as many as the call keeps.
    pub buckets: Vec<RepairedBucket>,
}

/// What [`Buckets::repair`](crate::Buckets::repair) did with one bucket, or would do.
///
/// ```
/// fn reasons(bucket: &bucket_mongo::action::RepairedBucket) -> Vec<String> {
///     bucket.quarantined.iter().map(ToString::to_string).collect()
/// }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RepairedBucket {
    /// The document's `_id`.
    pub id: Bson,
    /// Its key fields as they were found.
    pub key: Document,
    /// What was mended.
    pub mended: Vec<Problem>,
    /// Why it was moved into the quarantine; empty if it was not.
    pub quarantined: Vec<Problem>,
    /// What is still wrong.
    pub left: Vec<Problem>,
    /// Why the server refused the statement, or that it did not answer in time; what it was for is left.
    pub refused: Option<String>,
    /// Whether others changed it at every attempt.
    pub is_changed: bool,
}

impl RepairedBucket {
    /// What a statement was for is left.
    pub(super) fn stays(&mut self, because: &Error) {
        self.left.append(&mut self.mended);
        self.left.append(&mut self.quarantined);
        self.refused = Some(because.to_string());
    }

    fn is_fine(&self) -> bool {
        self.mended.is_empty()
            && self.quarantined.is_empty()
            && self.left.is_empty()
            && !self.is_changed
    }
}

impl RepairReport {
    pub(super) fn add(&mut self, bucket: RepairedBucket, keep: usize) {
        self.mended += u64::from(!bucket.mended.is_empty());
        self.quarantined += u64::from(!bucket.quarantined.is_empty());
        self.left += u64::from(!bucket.left.is_empty());
        self.changed += u64::from(bucket.is_changed);
        if bucket.is_fine() {
            self.fine += 1;
        } else if self.buckets.len() < keep {
            self.buckets.push(bucket);
        }
    }
}

impl fmt::Display for RepairReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_dry {
            f.write_str("nothing was changed; a repair does this:\n")?;
        }
        write!(
            f,
            "mended: {}, in the quarantine `{}`: {}, with something left: {}, changed by others: {}, fine: {}",
            self.mended, self.quarantine, self.quarantined, self.left, self.changed, self.fine
        )?;
        if self.not_kept > 0 {
            write!(
                f,
                "\n{} findings were not kept and not looked at: use `verify_again()`",
                self.not_kept
            )?;
        }
        for name in &self.created_indexes {
            write!(f, "\nindex `{name}` created")?;
        }
        for index in &self.indexes {
            write!(f, "\n{index}")?;
        }
        for bucket in &self.buckets {
            write!(f, "\n{bucket}")?;
        }
        Ok(())
    }
}

impl fmt::Display for RepairedBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bucket {}", self.id)?;
        let mut part = |name: &str, problems: &[Problem]| -> fmt::Result {
            for (index, problem) in problems.iter().enumerate() {
                match index {
                    0 => write!(f, "; {name}: {problem}")?,
                    _ => write!(f, ", {problem}")?,
                }
            }
            Ok(())
        };
        part("mended", &self.mended)?;
        part("quarantined", &self.quarantined)?;
        part("left", &self.left)?;
        if let Some(refused) = &self.refused {
            write!(f, "; refused: {refused}")?;
        }
        if self.is_changed {
            f.write_str("; changed by others at every attempt")?;
        }
        Ok(())
    }
}
