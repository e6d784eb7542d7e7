//! What a comparison has found, and how far it is.

use std::{fmt, time::Duration};

use mongodb::bson::{Bson, DateTime, Document};

use crate::action::RejectedDocument;

/// How many differences, and how many documents that are no records, are named.
const NAMED: usize = 100;

/// What [`Buckets::compare_with`](crate::Buckets::compare_with) has found.
///
/// ```
/// use std::process::ExitCode;
///
/// fn exit(comparison: &bucket_mongo::Comparison) -> ExitCode {
///     println!("{comparison}"); // 5000000 documents and 4999999 records: 1 only in the source
///     for difference in &comparison.differences {
///         eprintln!("{difference}");
///     }
///     if comparison.is_same() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
/// }
/// ```
#[must_use = "only the report says whether both have the same records"]
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Comparison {
    /// The number of documents of the source that are records of the range.
    pub documents: u64,
    /// The number of records of the range in the buckets.
    pub records: u64,
    /// The number of documents of the source that are no records of the model. A backfill rejects them.
    pub rejected: u64,
    /// The first of these, at most 100.
    pub rejects: Vec<RejectedDocument>,
    /// The number of records that only the source has, or that it has more often.
    pub missing: u64,
    /// The number of records that only the buckets have, or that they have more often.
    pub extra: u64,
    /// The first of both by time, at most 100. A record that was changed is one of each.
    pub differences: Vec<Difference>,
    /// Whether all that differs was counted. If not, `missing` and `extra` are less than there are.
    pub is_complete: bool,
    /// How long it took.
    pub took: Duration,
}

/// A record that only one side has, or that it has more often than the other.
///
/// ```
/// use bucket_mongo::action::Difference;
///
/// fn line(difference: &Difference) -> String {
///     match &difference.missing {
///         Some(id) => format!("the document {id} of {} is not in the buckets", difference.time),
///         None => format!("{} is only in the buckets", difference.record),
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Difference {
    /// The `_id` of the document in the source, for a record that the buckets lack; `None` for one that only they have.
    pub missing: Option<Bson>,
    /// The time of the record.
    pub time: DateTime,
    /// The record, as serde writes it.
    pub record: Document,
}

/// How far a comparison is.
///
/// ```
/// fn bar(done: &bucket_mongo::action::CompareProgress) -> String {
///     format!("{} of about {}, and {} records", done.documents, done.expected, done.records)
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompareProgress {
    /// The number of documents that were read.
    pub documents: u64,
    /// The number of records that were read.
    pub records: u64,
    /// About how many documents the source has.
    pub expected: u64,
    /// Whether this is the second read, for what differs.
    pub is_searching: bool,
}

impl Comparison {
    /// Whether each document of the source is a record, and both sides have the same ones.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.missing == 0 && self.extra == 0 && self.rejected == 0 && self.is_complete
    }

    pub(super) fn reject(&mut self, rejected: impl FnOnce() -> RejectedDocument) {
        self.rejected += 1;
        if self.rejects.len() < NAMED {
            self.rejects.push(rejected());
        }
    }

    /// Takes everything that differs.
    pub(super) fn differ(&mut self, mut all: Vec<Difference>) {
        let missing = all.iter().filter(|one| one.missing.is_some()).count();
        self.missing = missing as u64;
        self.extra = (all.len() - missing) as u64;
        all.sort_by_key(|one| (one.time, one.missing.is_none()));
        all.truncate(NAMED);
        self.differences = all;
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            documents, records, ..
        } = self;
        write!(f, "{documents} documents and {records} records: ")?;
        if self.is_same() {
            return f.write_str("the same");
        }
        let at_least = if self.is_complete { "" } else { "at least " };
        let differences = [
            (self.missing, "only in the source"),
            (self.extra, "only in the buckets"),
        ];
        let mut separator = "";
        for (count, what) in differences.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, "{separator}{at_least}{count} {what}")?;
            separator = ", ";
        }
        if self.rejected > 0 {
            return write!(f, "{separator}{} documents are no records", self.rejected);
        }
        if separator.is_empty() {
            // What was searched has become the same meanwhile.
            f.write_str("differences that were not counted")?;
        }
        Ok(())
    }
}

impl fmt::Display for CompareProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            documents,
            expected,
            records,
            is_searching,
        } = self;
        write!(
            f,
            "{documents} of about {expected} documents, and {records} records"
        )?;
        if *is_searching {
            f.write_str(", again for what differs")?;
        }
        Ok(())
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.missing {
            Some(id) => write!(f, "only in the source, {id}: {}", self.record),
            None => write!(f, "only in the buckets: {}", self.record),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Comparison;

    #[test]
    fn what_was_not_counted_to_the_end_is_not_the_same_and_says_at_least() {
        let mut found = Comparison {
            documents: 3,
            records: 3,
            is_complete: true,
            ..Comparison::default()
        };
        assert!(found.is_same());
        assert_eq!(found.to_string(), "3 documents and 3 records: the same");
        found.missing = 2;
        found.is_complete = false;
        assert!(!found.is_same());
        let text = "3 documents and 3 records: at least 2 only in the source";
        assert_eq!(found.to_string(), text);
        found.missing = 0;
        let text = "3 documents and 3 records: differences that were not counted";
        assert_eq!(found.to_string(), text);
    }
}
