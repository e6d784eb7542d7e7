//! What a backfill has done, and how far it is.

use std::{fmt, time::Duration};

use bucket_core::backfill::Counts;
use mongodb::bson::Bson;

/// What [`Buckets::backfill_from`](crate::Buckets::backfill_from) has done.
///
/// The counts are those of the job, in all its runs: `read` is the sum of the others.
///
/// ```
/// use std::process::ExitCode;
///
/// fn exit(report: &bucket_mongo::BackfillReport) -> ExitCode {
///     println!("{report}"); // 5000000 documents: 4999998 stored, 2 rejected
///     for rejected in &report.rejects {
///         eprintln!("{}: {}", rejected.id, rejected.reason);
///     }
///     if report.is_whole() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
/// }
/// ```
#[must_use = "only the report says whether documents were rejected"]
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct BackfillReport {
    /// The number of documents that the job has read.
    pub read: u64,
    /// The number of records that it has stored.
    pub stored: u64,
    /// The number of records that were stored already under their id, or have replaced what was stored there.
    pub duplicates: u64,
    /// The number of documents in the collection of rejects.
    pub rejected: u64,
    /// The first of those that this run has rejected, at most 100.
    pub rejects: Vec<RejectedDocument>,
    /// The number of chunks of this run.
    pub chunks: u64,
    /// How long this run took.
    pub took: Duration,
}

/// A document that is not stored as a record.
///
/// ```
/// fn line(rejected: &bucket_mongo::action::RejectedDocument) -> String {
///     format!("{}: {}", rejected.id, rejected.reason)
/// }
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RejectedDocument {
    /// Its `_id` in the source.
    pub id: Bson,
    /// What does not fit.
    pub reason: String,
}

/// How far a backfill is.
///
/// ```
/// fn bar(done: &bucket_mongo::BackfillProgress) -> String {
///     format!("{} of about {}, {:.0} a second", done.read, done.expected, done.rate)
/// }
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct BackfillProgress {
    /// The number of documents that the job has read.
    pub read: u64,
    /// The number of records that it has stored.
    pub stored: u64,
    /// The number of documents that it has rejected.
    pub rejected: u64,
    /// About how many documents the source has.
    pub expected: u64,
    /// The documents of this run in a second.
    pub rate: f64,
    /// How long the rest takes at this rate.
    pub left: Option<Duration>,
}

/// How many rejects are kept.
const KEPT: usize = 100;

impl BackfillReport {
    /// Whether no document was rejected, in any run of the job.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.rejected == 0
    }

    pub(super) fn of(counts: Counts) -> Self {
        Self {
            read: counts.read,
            stored: counts.stored,
            duplicates: counts.duplicates,
            rejected: counts.rejected,
            ..Self::default()
        }
    }

    pub(super) fn keep(&mut self, rejected: impl IntoIterator<Item = RejectedDocument>) {
        let room = KEPT.saturating_sub(self.rejects.len());
        self.rejects.extend(rejected.into_iter().take(room));
    }
}

impl fmt::Display for BackfillReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} documents: {} stored", self.read, self.stored)?;
        let rest = [
            (self.duplicates, "stored already"),
            (self.rejected, "rejected"),
        ];
        for (count, what) in rest.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, ", {count} {what}")?;
        }
        Ok(())
    }
}

impl BackfillProgress {
    /// Of a run that has read this number of documents in this time.
    pub(super) fn of(counts: Counts, expected: u64, read: u64, time: Duration) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a rate need not be exact")]
        let rate = read as f64 / time.as_secs_f64().max(0.001);
        let rest = expected.saturating_sub(counts.read);
        #[expect(clippy::cast_precision_loss, reason = "nor need an estimate")]
        let left = Duration::try_from_secs_f64(rest as f64 / rate);
        Self {
            read: counts.read,
            stored: counts.stored,
            rejected: counts.rejected,
            expected,
            rate,
            left: left.ok(),
        }
    }
}

impl fmt::Display for BackfillProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            read,
            expected,
            rejected,
            rate,
            ..
        } = self;
        write!(
            f,
            "{read} of about {expected} documents, {rate:.0} a second"
        )?;
        if *rejected > 0 {
            write!(f, ", {rejected} rejected")?;
        }
        if let Some(left) = self.left {
            write!(f, ", about {} s left", left.as_secs())?;
        }
        Ok(())
    }
}
