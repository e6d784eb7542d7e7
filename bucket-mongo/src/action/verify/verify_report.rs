//! What a `verify` found, and how far it is.

use std::{collections::BTreeMap, fmt};

use bucket_core::check::{CheckPosition, Finding, ProblemKind};
use serde::Serialize;

/// What [`Buckets::verify`](crate::Buckets::verify) found.
///
/// It prints as a short text, one line per kind of problem and per finding that it kept, and serialises with serde.
///
/// ```
/// fn is_fine(report: &bucket_mongo::VerifyReport) -> bool {
///     report.is_clean() || report.harmful() == 0
/// }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct VerifyReport {
    /// The number of documents that were checked.
    pub buckets: u64,
    /// The number of their records, without those that were removed.
    pub records: u64,
    /// The number of their keys.
    pub keys: u64,
    /// The number of problems of each kind.
    pub found: BTreeMap<ProblemKind, u64>,
    /// The first findings, as many as the call keeps.
    pub findings: Vec<Finding>,
    /// Where the indexes differ from the model's. What an index forbids, the server prevents only with it: two
    /// buckets of a key with one record id, or with one number. Empty if the user may not list them.
    pub indexes: Vec<String>,
    /// Of how many keys only a part of the record ids was compared across buckets. That is done only without the
    /// index on them, and fully for keys with up to a million ids.
    pub parts_of_ids: u64,
    /// The last document that was checked, from which another call can go on; `None` if there was none.
    pub position: Option<CheckPosition>,
}

impl VerifyReport {
    pub(super) fn add(&mut self, finding: Finding, keep: usize) {
        let count = self.found.entry(finding.problem.kind()).or_default();
        *count = count.saturating_add(1);
        if self.findings.len() < keep {
            self.findings.push(finding);
        }
    }

    pub(super) fn end(&mut self, progress: &VerifyProgress) {
        self.buckets = progress.buckets;
        self.records = progress.records;
        self.keys = progress.keys;
        self.parts_of_ids = progress.parts_of_ids;
        self.position.clone_from(&progress.position);
    }

    /// The number of all problems of documents.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.found.values().sum()
    }

    /// The number of those that do harm.
    #[must_use]
    pub fn harmful(&self) -> u64 {
        let found = self.found.iter();
        let harmful = found.filter(|(kind, _)| kind.is_harmful());
        harmful.map(|(_, count)| count).sum()
    }

    /// Whether nothing was found.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.found.is_empty() && self.indexes.is_empty()
    }
}

impl fmt::Display for VerifyReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            buckets,
            records,
            keys,
            ..
        } = self;
        write!(f, "{records} records in {buckets} buckets of {keys} keys")?;
        if self.parts_of_ids > 0 {
            write!(
                f,
                "\nonly a part of the record ids was compared in {} keys with more than a million",
                self.parts_of_ids
            )?;
        }
        if self.is_clean() {
            return f.write_str("\nnothing is wrong");
        }
        for index in &self.indexes {
            write!(f, "\n{index}")?;
        }
        for (kind, count) in &self.found {
            let harm = if kind.is_harmful() {
                "harmful"
            } else {
                "harmless"
            };
            write!(f, "\n{kind} ({harm}): {count}")?;
        }
        for finding in &self.findings {
            write!(f, "\n{finding}")?;
        }
        let kept = u64::try_from(self.findings.len()).unwrap_or(u64::MAX);
        match self.total().saturating_sub(kept) {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

/// How far a `verify` is.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct VerifyProgress {
    /// The number of documents so far.
    pub buckets: u64,
    /// The number of their records, without those that were removed.
    pub records: u64,
    /// The number of their keys.
    pub keys: u64,
    /// The number of problems so far. Some are reported only after they were looked at again.
    pub findings: u64,
    /// Of how many keys only a part of the record ids was compared, as in
    /// [`VerifyReport::parts_of_ids`].
    pub parts_of_ids: u64,
    /// From where another call can go on: all that is wrong up to there was found. `None` before the first document.
    pub position: Option<CheckPosition>,
}
