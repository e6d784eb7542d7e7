//! What a migration reports, during the run and at its end.

use std::fmt;

use bucket_core::attribute::DocumentError;
use mongodb::bson::Bson;

/// The most refused documents that a report names; all are counted.
const NAMED: usize = 100;

/// The progress of a migration.
///
/// ```
/// use bucket_mongo::documents::MigrationProgress;
///
/// fn bar(done: &MigrationProgress) -> String {
///     let width = 40 * done.looked_at.min(done.expected) / done.expected.max(1);
///     format!("[{:<40}] {} changed", "#".repeat(width as usize), done.changed)
/// }
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MigrationProgress {
    /// The server's estimate of the documents in the collection at the start.
    pub expected: u64,
    /// Documents that were read.
    pub looked_at: u64,
    /// Documents that were changed.
    pub changed: u64,
    /// Documents that could not be changed.
    pub refused: u64,
    /// Everything up to this `_id` is migrated: [`after`](super::MigrateDocuments::after) continues after it.
    pub last_id: Bson,
}

/// The result of a migration.
///
/// Every document that was read is one of `changed`, `already`, `refused`, `unsettled` and `gone`.
///
/// ```
/// use bucket_mongo::documents::MigrationReport;
///
/// fn is_complete(report: &MigrationReport) -> bool {
///     report.left == 0 && report.differing.is_empty()
/// }
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct MigrationReport {
    /// Whether this was a dry run: nothing was changed, and `changed` is what would have been.
    pub dry_run: bool,
    /// Documents that were read.
    pub looked_at: u64,
    /// Documents that were changed.
    pub changed: u64,
    /// Documents that had no field of the other form.
    pub already: u64,
    /// Documents that cannot be migrated. They are not changed.
    pub refused: u64,
    /// The first 100 refused documents, and why.
    pub refusals: Vec<RefusedDocument>,
    /// Documents that others kept changing; run the migration again.
    pub unsettled: u64,
    /// Documents that others deleted in the meantime.
    pub gone: u64,
    /// Documents that still have a field of the other form, counted at the end: the refused ones, and those
    /// that others stored after the walk had passed.
    pub left: u64,
    /// Documents that were read again after their change and compared with what they were. They are compared
    /// as records, without regard to the order of fields and the type of a number.
    pub compared: u64,
    /// Compared documents whose attributes are as written, but whose other fields someone has changed since.
    pub rewritten: u64,
    /// Compared documents that differ: someone has changed their attributes since, or something is wrong.
    pub differing: Vec<Bson>,
}

/// A document that cannot be migrated.
///
/// ```
/// use bucket_mongo::documents::RefusedDocument;
///
/// fn line(refused: &RefusedDocument) -> String {
///     refused.error.to_string() // document 17: `specs` is not an array
/// }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RefusedDocument {
    /// Its `_id`.
    pub id: Bson,
    /// Why it cannot be migrated. The document is always the reason, so this is not the
    /// [`Error`](crate::Error) of a call: there is nothing to try again, and [`fault`](DocumentError::fault)
    /// says what to repair.
    pub error: DocumentError,
}

impl MigrationReport {
    pub(super) fn new(dry_run: bool) -> Self {
        Self {
            dry_run,
            ..Self::default()
        }
    }

    pub(super) fn refuse(&mut self, id: Bson, error: DocumentError) {
        self.refused += 1;
        if self.refusals.len() < NAMED {
            self.refusals.push(RefusedDocument { id, error });
        }
    }
}

impl fmt::Display for MigrationReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let changed = if self.dry_run {
            "would be changed"
        } else {
            "changed"
        };
        write!(
            f,
            "{} documents: {} {changed}, {} in the form already, {} refused",
            self.looked_at, self.changed, self.already, self.refused
        )?;
        if self.unsettled > 0 {
            write!(f, ", {} not settled", self.unsettled)?;
        }
        if self.gone > 0 {
            write!(f, ", {} deleted meanwhile", self.gone)?;
        }
        write!(f, "; {} left", self.left)?;
        if self.compared > 0 {
            let differing = self.differing.len();
            write!(f, "; {} compared, {differing} differ", self.compared)?;
        }
        Ok(())
    }
}
