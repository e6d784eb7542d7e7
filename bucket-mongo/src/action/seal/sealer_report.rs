//! What a sealer has done since its start.

use std::fmt;

use super::SealReport;
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
    /// The number of rounds that have ended, with those that failed.
    pub rounds: u64,
    /// The number of rounds that ended with an error. The round after it takes what was left.
    pub failed_rounds: u64,
    /// The error of the newest round, if it failed.
    pub last_error: Option<Error>,
}

impl SealerReport {
    /// Adds what a round has sealed.
    pub(super) fn add(&mut self, round: &SealReport) {
        let sums = &mut self.sealed;
        sums.buckets += round.buckets;
        sums.records += round.records;
        sums.bytes_before += round.bytes_before;
        sums.bytes_after += round.bytes_after;
        sums.changed += round.changed;
    }

    /// Remembers what a round over the whole collection has left.
    pub(super) fn left(&mut self, round: SealReport) {
        self.sealed = SealReport {
            stay: round.stay,
            damaged: round.damaged,
            damages: round.damages,
            ..self.sealed.clone()
        };
    }
}

impl fmt::Display for SealerReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            sealed,
            rounds,
            failed_rounds,
            last_error,
        } = self;
        write!(f, "{sealed}; {rounds} rounds")?;
        if *failed_rounds > 0 {
            write!(f, ", of which {failed_rounds} failed")?;
        }
        match last_error {
            Some(error) => write!(f, "; the newest one: {error}"),
            None => Ok(()),
        }
    }
}
