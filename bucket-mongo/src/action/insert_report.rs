//! The outcome of each record of an `insert_many`.

use super::RecordOutcome;
use crate::{
    error::{Error, Result},
    failures::{Failed, Failures},
    without_failures::WithoutFailures,
    writer::Written,
};

/// The outcome of each record of a [`Buckets::insert_many`](crate::Buckets::insert_many).
///
/// A record is identified by its index in the iterator, counted from 0. It, or a later version of it, is stored
/// unless it is among the [`failed`](Self::failed) ones.
///
/// ```
/// use bucket_mongo::InsertReport;
///
/// fn summary(report: &InsertReport) -> String {
///     format!("{} of {} records stored", report.stored(), report.tried())
/// }
/// ```
#[must_use = "records that could not be stored are only in the report: `into_result()` makes them an error"]
#[derive(Debug, Clone, Default)]
pub struct InsertReport {
    stored: usize,
    opened: usize,
    duplicates: Vec<usize>,
    replaced: Vec<usize>,
    superseded: Vec<usize>,
    failures: Failures<FailedRecord>,
}

/// A record that is not stored, or may not be.
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
    /// Why it failed. With [`is_outcome_unknown`](Error::is_outcome_unknown) the record may be stored.
    pub error: Error,
}

impl Failed for FailedRecord {
    fn index(&self) -> usize {
        self.index
    }
}

impl InsertReport {
    /// The number of records taken from the iterator: all of them, unless something
    /// [stopped](Self::stopped_by) the call.
    #[must_use]
    pub fn tried(&self) -> usize {
        self.failures.tried()
    }

    /// The number of records that this call stored. Those that [replaced](Self::replaced) others are not counted.
    #[must_use]
    pub fn stored(&self) -> usize {
        self.stored
    }

    /// The indexes of the records that were already stored, by an earlier call or as an earlier record of
    /// this one, and were not stored again. They are in order. Only records with an id (`#[bucket(unique)]`)
    /// and records of a source ([`from_source`](crate::action::InsertMany::from_source)) are recognised.
    #[must_use]
    pub fn duplicates(&self) -> &[usize] {
        &self.duplicates
    }

    /// The indexes of the records that replaced what was stored under their ids, in order: those of a call with
    /// [`replace`](crate::action::InsertMany::replace), or of a model with `on_conflict = "replace"`.
    #[must_use]
    pub fn replaced(&self) -> &[usize] {
        &self.replaced
    }

    /// The indexes of the records that do not replace what is stored under their ids, in order: a later version
    /// is stored.
    #[must_use]
    pub fn superseded(&self) -> &[usize] {
        &self.superseded
    }

    /// The number of buckets that the call opened.
    #[must_use]
    pub fn opened_buckets(&self) -> usize {
        self.opened
    }

    /// The records that are not stored, or may not be, in the order of their indexes.
    #[must_use]
    pub fn failed(&self) -> &[FailedRecord] {
        self.failures.all()
    }

    /// Why the record of this index is not stored, or not known to be; none of records that are stored.
    ///
    /// ```
    /// use bucket_mongo::InsertReport;
    ///
    /// fn may_send_again(report: &InsertReport, index: usize) -> bool {
    ///     report.error(index).is_some_and(|error| error.is_retryable())
    /// }
    /// ```
    #[must_use]
    pub fn error(&self, index: usize) -> Option<&Error> {
        self.failures.of(index).map(|failed| &failed.error)
    }

    /// Whether the record of this index is stored, by this call or an earlier one, or a later version of it.
    #[must_use]
    pub fn is_stored(&self, index: usize) -> bool {
        self.failures.has_succeeded(index)
    }

    /// The outcome of the record at this index.
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
        if index >= self.tried() {
            return RecordOutcome::NotTried;
        }
        match self.failures.of(index) {
            Some(failed) if failed.error.is_conflict() => RecordOutcome::Conflict,
            Some(_) => RecordOutcome::Failed,
            None if self.duplicates.binary_search(&index).is_ok() => RecordOutcome::Duplicate,
            None if self.replaced.binary_search(&index).is_ok() => RecordOutcome::Replaced,
            None if self.superseded.binary_search(&index).is_ok() => RecordOutcome::Superseded,
            None => RecordOutcome::Stored,
        }
    }

    /// Returns the report if every record is stored, else the error of the first one that is not.
    ///
    /// # Errors
    ///
    /// That of the record with the lowest index, or why none were [taken](Self::stopped_by) any more.
    pub fn into_result(mut self) -> Result<WithoutFailures<Self>> {
        let first = self.failures.take_first().map(|failed| failed.error);
        match first.or_else(|| self.stopped_by().cloned()) {
            None => Ok(WithoutFailures::new(self)),
            Some(error) => Err(error),
        }
    }

    /// Why the call stopped early, if it did: the connection was lost, or no record could have been stored.
    /// Records that were taken from the iterator but not sent are among the failed ones; those from index
    /// [`tried`](Self::tried) on were not taken.
    #[must_use]
    pub fn stopped_by(&self) -> Option<&Error> {
        self.failures.stopped_by()
    }

    pub(in crate::action) fn next_index(&mut self) -> usize {
        self.failures.next_index()
    }

    pub(in crate::action) fn fail(&mut self, index: usize, error: Error) {
        self.failures.push(FailedRecord { index, error });
    }

    pub(super) fn add(&mut self, written: Written) {
        self.stored += written.stored;
        self.opened += written.opened.len();
        self.duplicates.extend(written.duplicates);
        self.replaced.extend(written.replaced);
        self.superseded.extend(written.superseded);
        for (index, error) in written.failed {
            self.fail(index, error);
        }
        if let Some(error) = written.stopped_by {
            self.failures.stop(error);
        }
    }

    pub(super) fn sort(&mut self) {
        self.failures.sort();
        for indexes in [
            &mut self.duplicates,
            &mut self.replaced,
            &mut self.superseded,
        ] {
            indexes.sort_unstable();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::InsertReport;
    use crate::{
        Error, ErrorKind,
        error::{Context, NotKnown},
    };

    fn context() -> Context {
        Context {
            operation: "insert_many",
            collection: "samples",
            spec: None,
            key: None,
        }
    }

    #[test]
    fn a_call_that_stopped_before_all_records_were_taken_is_no_success() {
        let mut report = InsertReport::default();
        report.next_index();
        assert!(report.clone().into_result().is_ok());
        report
            .failures
            .stop(Error::not_known(NotKnown::NoReply, &context()));
        assert!(report.into_result().unwrap_err().is_outcome_unknown());
    }

    #[test]
    fn the_error_of_a_record_is_had_by_its_index() {
        let mut report = InsertReport::default();
        for _ in 0..3 {
            report.next_index();
        }
        report.fail(2, Error::new(ErrorKind::ShutDown, &context()));
        report.fail(
            0,
            Error::new(ErrorKind::Contention { attempts: 1 }, &context()),
        );
        report.sort();
        let retryable = [0, 1, 2, 3].map(|index| report.error(index).map(Error::is_retryable));
        assert_eq!(retryable, [Some(true), None, Some(false), None]);
    }
}
