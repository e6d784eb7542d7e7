//! What became of the records of an `insert_many`.

use super::RecordOutcome;
use crate::{Error, Result, writer::Written};

/// What became of each record of a [`Buckets::insert_many`](crate::Buckets::insert_many).
///
/// A record is known by its index in the iterator, counted from 0. It is stored unless it is among
/// the [`failed`](Self::failed) ones.
///
/// ```
/// use bucket_mongo::InsertReport;
///
/// fn summary(report: &InsertReport) -> String {
///     format!("{} of {} records stored", report.stored(), report.tried())
/// }
/// ```
#[derive(Debug, Clone, Default)]
pub struct InsertReport {
    tried: usize,
    stored: usize,
    opened: usize,
    duplicates: Vec<usize>,
    failed: Vec<FailedRecord>,
    stopped_by: Option<Error>,
}

/// A record that is not stored, or not known to be.
///
/// ```
/// fn retry(failed: &bucket_mongo::action::FailedRecord) -> bool {
///     failed.error.is_retryable()
/// }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FailedRecord {
    /// The index of the record in the iterator, counted from 0.
    pub index: usize,
    /// Why. With [`is_outcome_unknown`](Error::is_outcome_unknown) the record may be stored.
    pub error: Error,
}

impl InsertReport {
    /// The number of records that were taken from the iterator: all of them, unless something
    /// [stopped](Self::stopped_by) the call.
    #[must_use]
    pub fn tried(&self) -> usize {
        self.tried
    }

    /// The number of records that this call has stored.
    #[must_use]
    pub fn stored(&self) -> usize {
        self.stored
    }

    /// The records that were stored before, by an earlier call or as an earlier record of this one, so
    /// that they were not stored again, in the order of their indexes. Known are those with an id
    /// (`#[bucket(unique)]`) and those of a source
    /// ([`from_source`](crate::action::InsertMany::from_source)).
    #[must_use]
    pub fn duplicates(&self) -> &[usize] {
        &self.duplicates
    }

    /// The number of buckets that were opened.
    #[must_use]
    pub fn opened_buckets(&self) -> usize {
        self.opened
    }

    /// The records that are not stored, or not known to be, in the order of their indexes.
    #[must_use]
    pub fn failed(&self) -> &[FailedRecord] {
        &self.failed
    }

    /// Whether the record of this index is stored, by this call or an earlier one.
    #[must_use]
    pub fn is_stored(&self, index: usize) -> bool {
        index < self.tried
            && self
                .failed
                .binary_search_by_key(&index, |f| f.index)
                .is_err()
    }

    /// What became of the record of this index.
    ///
    /// ```
    /// use bucket_mongo::{InsertReport, RecordOutcome};
    ///
    /// fn conflicts(report: &InsertReport) -> usize {
    ///     let outcomes = (0..report.tried()).map(|index| report.outcome(index));
    ///     outcomes.filter(|outcome| *outcome == RecordOutcome::Conflict).count()
    /// }
    /// ```
    #[must_use]
    pub fn outcome(&self, index: usize) -> RecordOutcome {
        if index >= self.tried {
            return RecordOutcome::NotTried;
        }
        match self.failed.binary_search_by_key(&index, |f| f.index) {
            Ok(at) if self.failed[at].error.is_conflict() => RecordOutcome::Conflict,
            Ok(_) => RecordOutcome::Failed,
            Err(_) if self.duplicates.binary_search(&index).is_ok() => RecordOutcome::Duplicate,
            Err(_) => RecordOutcome::Stored,
        }
    }

    /// The report if every record is stored, else the error of the first that is not.
    ///
    /// # Errors
    ///
    /// That of the record with the lowest index.
    pub fn into_result(mut self) -> Result<Self> {
        if self.failed.is_empty() {
            Ok(self)
        } else {
            Err(self.failed.swap_remove(0).error)
        }
    }

    /// Why nothing more was tried, where that is so: the connection was lost, or no record could
    /// have been stored. Records that were taken from the iterator and not sent are among the failed
    /// ones; those from index [`tried`](Self::tried) on were not taken.
    #[must_use]
    pub fn stopped_by(&self) -> Option<&Error> {
        self.stopped_by.as_ref()
    }

    pub(super) fn next_index(&mut self) -> usize {
        self.tried += 1;
        self.tried - 1
    }

    pub(super) fn fail(&mut self, index: usize, error: Error) {
        self.failed.push(FailedRecord { index, error });
    }

    pub(super) fn add(&mut self, written: Written) {
        self.stored += written.stored;
        self.opened += written.opened.len();
        self.duplicates.extend(written.duplicates);
        let failed = written.failed.into_iter();
        self.failed
            .extend(failed.map(|(index, error)| FailedRecord { index, error }));
        self.stopped_by = self.stopped_by.take().or(written.stopped_by);
    }

    pub(super) fn sort(&mut self) {
        self.failed.sort_by_key(|failed| failed.index);
        self.duplicates.sort_unstable();
    }
}
