//! The outcome of everything that an ingestor accepted.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering::SeqCst},
};

use super::settlement::Outcome;
use crate::{Error, RecordOutcome, Result, WithoutFailures};

/// The most failures that a report names while the ingestor runs.
const KEPT_FAILURES: usize = 1_000;

/// The outcome of the records that an [`Ingestor`](super::Ingestor) has accepted since its start, through any
/// of its handles.
///
/// Every accepted record is in exactly one of [`stored`](Self::stored), [`duplicates`](Self::duplicates),
/// [`replaced`](Self::replaced), [`superseded`](Self::superseded), [`not_stored`](Self::not_stored), [`unknown`](Self::unknown) and
/// [`pending`](Self::pending). After `shutdown` and `abort` none is pending.
///
/// ```
/// fn summary(report: &bucket_mongo::IngestReport) -> String {
///     format!("{} of {} records stored", report.stored(), report.accepted())
/// }
/// ```
#[must_use = "records that could not be stored are only in the report: `into_result()` makes them an error"]
#[derive(Debug, Clone, Default)]
pub struct IngestReport {
    accepted: u64,
    stored: u64,
    duplicates: u64,
    replaced: u64,
    superseded: u64,
    not_stored: u64,
    not_known: u64,
    failed: Vec<IngestFailure>,
}

/// A record that was accepted and is not stored, or may not be.
///
/// ```
/// fn push_again(failure: &bucket_mongo::ingest::IngestFailure) -> bool {
///     failure.error.is_retryable()
/// }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct IngestFailure {
    /// The record: [`Receipt::sequence`](super::Receipt::sequence).
    pub sequence: u64,
    /// Why it failed. With [`is_outcome_unknown`](Error::is_outcome_unknown) the record may be stored.
    pub error: Error,
}

impl IngestReport {
    /// The number of records that were accepted.
    #[must_use]
    pub fn accepted(&self) -> u64 {
        self.accepted
    }

    /// The number of records that were stored and are durable.
    #[must_use]
    pub fn stored(&self) -> u64 {
        self.stored
    }

    /// The number of records that were already stored and not stored again; 0 without record ids
    /// (`#[bucket(unique)]`).
    #[must_use]
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// The number of records that replaced what was stored under their ids; see
    /// [`IngestorBuilder::replace`](super::IngestorBuilder::replace).
    #[must_use]
    pub fn replaced(&self) -> u64 {
        self.replaced
    }

    /// The number of records that do not replace what is stored under their ids: a later version is stored.
    #[must_use]
    pub fn superseded(&self) -> u64 {
        self.superseded
    }

    /// The number of records that are certainly not stored.
    #[must_use]
    pub fn not_stored(&self) -> u64 {
        self.not_stored
    }

    /// The number of records that were sent and whose outcome is unknown.
    #[must_use]
    pub fn unknown(&self) -> u64 {
        self.not_known
    }

    /// The number of records that are buffered or being written.
    #[must_use]
    pub fn pending(&self) -> u64 {
        self.accepted - self.settled_well() - self.not_stored - self.not_known
    }

    /// Whether every record that was accepted, or a later version of it, is durable.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.settled_well() == self.accepted
    }

    fn settled_well(&self) -> u64 {
        self.stored + self.duplicates + self.replaced + self.superseded
    }

    /// Records that are not stored, or may not be, in the order of their sequence.
    ///
    /// Every record that an abort fails is in the list. Of earlier failures it has only the first 1,000, so
    /// that a report stays small in a long run. The counts cover all failures, and each receipt resolves to
    /// its own error.
    #[must_use]
    pub fn failed(&self) -> &[IngestFailure] {
        &self.failed
    }

    /// The report if no record has failed, else the error of the first that has.
    ///
    /// # Errors
    ///
    /// That of the first of the [`failed`](Self::failed) records.
    pub fn into_result(mut self) -> Result<WithoutFailures<Self>> {
        if self.failed.is_empty() {
            Ok(WithoutFailures::new(self))
        } else {
            Err(self.failed.swap_remove(0).error)
        }
    }
}

/// The running account.
#[derive(Debug)]
pub(super) struct Ledger {
    accepted: AtomicU64,
    settled: Mutex<Account>,
}

#[derive(Debug)]
struct Account {
    report: IngestReport,
    /// The number of failures that are named.
    max_failures: usize,
}

impl Default for Ledger {
    fn default() -> Self {
        Self {
            accepted: AtomicU64::new(0),
            settled: Mutex::new(Account {
                report: IngestReport::default(),
                max_failures: KEPT_FAILURES,
            }),
        }
    }
}

/// The figures of a settled batch.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Figures {
    pub(super) stored: u64,
    pub(super) duplicates: u64,
    pub(super) replaced: u64,
    pub(super) superseded: u64,
    pub(super) not_stored: u64,
    pub(super) not_known: u64,
}

impl Figures {
    /// The number of records with this outcome.
    fn of(&mut self, outcome: RecordOutcome) -> &mut u64 {
        match outcome {
            RecordOutcome::Duplicate => &mut self.duplicates,
            RecordOutcome::Replaced => &mut self.replaced,
            RecordOutcome::Superseded => &mut self.superseded,
            _ => &mut self.stored,
        }
    }
}

impl Ledger {
    /// Numbers an accepted record.
    pub(super) fn accept(&self) -> u64 {
        self.accepted.fetch_add(1, SeqCst)
    }

    /// From now on every failure is named: nothing more is accepted, so they are no more than what
    /// the memory bound lets in.
    pub(super) fn name_all(&self) {
        self.settled().max_failures = usize::MAX;
    }

    /// Enters a batch of records with these sequences.
    pub(super) fn settle(&self, sequences: &[u64], outcome: &Outcome) -> Figures {
        let mut figures = Figures::default();
        let Account {
            report,
            max_failures,
        } = &mut *self.settled();
        for (at, sequence) in sequences.iter().enumerate() {
            let error = match outcome.of(at) {
                Err(error) => error,
                Ok(outcome) => {
                    *figures.of(outcome) += 1;
                    continue;
                }
            };
            if error.is_outcome_unknown() {
                figures.not_known += 1;
            } else {
                figures.not_stored += 1;
            }
            if report.failed.len() < *max_failures {
                report.failed.push(IngestFailure {
                    sequence: *sequence,
                    error,
                });
            }
        }
        report.stored += figures.stored;
        report.duplicates += figures.duplicates;
        report.replaced += figures.replaced;
        report.superseded += figures.superseded;
        report.not_stored += figures.not_stored;
        report.not_known += figures.not_known;
        figures
    }

    pub(super) fn report(&self) -> IngestReport {
        let mut report = self.settled().report.clone();
        // Read last: what is settled was accepted before.
        report.accepted = self.accepted.load(SeqCst);
        report.failed.sort_by_key(|failure| failure.sequence);
        report
    }

    fn settled(&self) -> MutexGuard<'_, Account> {
        // No operation on the figures stops half-way.
        self.settled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
