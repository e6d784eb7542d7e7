//! The outcome of each document of an `insert_many`.

use mongodb::bson::Bson;

use crate::{
    error::{Error, Result},
    failures::{Failed, Failures},
    without_failures::WithoutFailures,
};

/// The outcome of each document of a [`Documents::insert_many`](crate::Documents::insert_many).
///
/// A document is identified by its index in the iterator, counted from 0. It is stored unless it is among the
/// [`failed`](Self::failed) ones.
///
/// ```
/// use bucket_mongo::documents::InsertDocumentsReport;
///
/// fn to_be_looked_at(report: &InsertDocumentsReport) -> usize {
///     report.failed().iter().filter(|failed| failed.error.is_outcome_unknown()).count()
/// }
/// ```
#[must_use = "documents that could not be stored are only in the report: `into_result()` makes them an error"]
#[derive(Debug, Clone, Default)]
pub struct InsertDocumentsReport {
    failures: Failures<FailedDocument>,
}

/// A document that is not stored, or may not be.
///
/// ```
/// fn retry(failed: &bucket_mongo::documents::FailedDocument) -> bool {
///     failed.error.is_retryable()
/// }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FailedDocument {
    /// The index of the document in the iterator, counted from 0.
    pub index: usize,
    /// Its `_id`, also where it got one; none if it cannot be encoded, or if it was stored in a transaction
    /// that has ended since.
    pub id: Option<Bson>,
    /// Why it failed. With [`is_outcome_unknown`](Error::is_outcome_unknown) the document may be stored: look
    /// for its `_id` before you send it again.
    pub error: Error,
}

impl Failed for FailedDocument {
    fn index(&self) -> usize {
        self.index
    }
}

impl InsertDocumentsReport {
    /// The number of documents taken from the iterator: all of them, unless something
    /// [stopped](Self::stopped_by) the call.
    #[must_use]
    pub fn tried(&self) -> usize {
        self.failures.tried()
    }

    /// The number of documents that are stored.
    #[must_use]
    pub fn stored(&self) -> usize {
        self.tried() - self.failed().len()
    }

    /// The documents that are not stored, or may not be, in the order of their indexes.
    #[must_use]
    pub fn failed(&self) -> &[FailedDocument] {
        self.failures.all()
    }

    /// Why the document of this index is not stored, or not known to be; none of documents that are stored.
    ///
    /// ```
    /// use bucket_mongo::documents::InsertDocumentsReport;
    ///
    /// fn is_taken(report: &InsertDocumentsReport, index: usize) -> bool {
    ///     report.error(index).is_some_and(|error| error.is_duplicate_key())
    /// }
    /// ```
    #[must_use]
    pub fn error(&self, index: usize) -> Option<&Error> {
        self.failures.of(index).map(|failed| &failed.error)
    }

    /// Whether the document of this index is stored.
    #[must_use]
    pub fn is_stored(&self, index: usize) -> bool {
        self.failures.has_succeeded(index)
    }

    /// Returns the report if every document is stored, else the error of the first one that is not.
    ///
    /// # Errors
    ///
    /// That of the document with the lowest index, or the reason why no more were [taken](Self::stopped_by).
    pub fn into_result(mut self) -> Result<WithoutFailures<Self>> {
        let first = self.failures.take_first().map(|failed| failed.error);
        match first.or_else(|| self.stopped_by().cloned()) {
            None => Ok(WithoutFailures::new(self)),
            Some(error) => Err(error),
        }
    }

    /// Why the call stopped early, if it did. Documents that were taken from the iterator but not sent are
    /// among the failed ones; those from index [`tried`](Self::tried) on were not taken.
    #[must_use]
    pub fn stopped_by(&self) -> Option<&Error> {
        self.failures.stopped_by()
    }

    pub(super) fn next_index(&mut self) -> usize {
        self.failures.next_index()
    }

    pub(super) fn fail(&mut self, failed: impl IntoIterator<Item = FailedDocument>) {
        for failed in failed {
            self.failures.push(failed);
        }
    }

    /// The transaction was rolled back, so every document of it has failed.
    pub(super) fn fail_others(&mut self, error: &Error) {
        self.sort();
        let others: Vec<usize> = (0..self.tried()).filter(|at| self.is_stored(*at)).collect();
        self.fail(others.into_iter().map(|index| FailedDocument {
            index,
            id: None,
            error: error.clone(),
        }));
        self.sort();
    }

    pub(super) fn stop(&mut self, error: Error) {
        self.failures.stop(error);
    }

    pub(super) fn sort(&mut self) {
        self.failures.sort();
    }
}
