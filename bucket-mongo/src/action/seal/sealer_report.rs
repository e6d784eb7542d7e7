//! What a sealer has done since its start.

use std::fmt;

use super::{MergeReport, SealReport, seal_report::Done};
use crate::Error;

/// What a [`Sealer`](super::Sealer) has done since its start.
///
/// ```
/// fn is_healthy(report: &bucket_mongo::SealerReport) -> bool {
///     report.last_error.is_none() && report.sealed.damaged == 0
/// }
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SealerReport {
    /// What was sealed. Buckets that stay as they are, and damaged ones, are those of the newest round over the whole
    /// collection.
    pub sealed: SealReport,
    /// Of which buckets the records were removed because they have expired
    /// ([`expire_records`](super::SealerBuilder::expire_records)).
    pub expired: SealReport,
    /// What was merged, in a model with `merge`.
    pub merged: MergeReport,
    /// The number of rounds that have ended, with those that failed.
    pub rounds: u64,
    /// The number of rounds that ended with an error. The round after it takes what was left.
    pub failed_rounds: u64,
    /// The error of the newest round, if it failed.
    pub last_error: Option<Error>,
}

impl SealerReport {
    /// Adds what a round has sealed, of which buckets the records have expired, and what it has merged.
    pub(super) fn add(&mut self, sealed: &SealReport, expired: &SealReport, merged: &MergeReport) {
        self.merged.adds(merged);
        self.sealed.adds(sealed);
        self.expired.adds(expired);
        self.expired.done = Done::Expired;
    }

    /// Remembers what a walk over the whole collection has left.
    pub(super) fn left(&mut self, walk: SealReport) {
        match walk.done {
            Done::Expired => self.expired.has_left(walk),
            Done::Sealed | Done::Unsealed => self.sealed.has_left(walk),
        }
    }
}

impl fmt::Display for SealerReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            sealed,
            expired,
            merged,
            rounds,
            failed_rounds,
            last_error,
        } = self;
        write!(f, "{sealed}; ")?;
        if expired.buckets > 0 {
            write!(f, "{expired}; ")?;
        }
        if merged.buckets > 0 {
            write!(f, "{merged}; ")?;
        }
        write!(f, "{rounds} rounds")?;
        if *failed_rounds > 0 {
            write!(f, ", of which {failed_rounds} failed")?;
        }
        match last_error {
            Some(error) => write!(f, "; the newest one: {error}"),
            None => Ok(()),
        }
    }
}
