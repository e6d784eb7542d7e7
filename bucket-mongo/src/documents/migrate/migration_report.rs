//! What a move of a collection tells, on the way and at its end.

use std::fmt;

use bucket_core::attribute::DocumentError;
use mongodb::bson::Bson;

/// Refused documents that a report names; all are counted.
const NAMED: usize = 100;

/// How far a move of a collection has come.
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
    /// The documents of the collection when it began, as the server estimates them.
    pub expected: u64,
    /// Documents that were looked at.
    pub looked_at: u64,
    /// Documents that were changed.
    pub changed: u64,
    /// Documents that could not be.
    pub refused: u64,
    /// Everything up to this `_id` is done: [`after`](super::MigrateDocuments::after) goes on behind it.
    pub last_id: Bson,
}

/// What a move of a collection did.
///
/// Every document that was looked at is one of `changed`, `already`, `refused`, `unsettled` and `gone`.
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
    /// Whether nothing was changed, as was asked for: `changed` would have been.
    pub dry_run: bool,
    /// Documents that were looked at.
    pub looked_at: u64,
    /// Documents that were changed.
    pub changed: u64,
    /// Documents that had nothing of the other form.
    pub already: u64,
    /// Documents that cannot be moved. They stay as they are.
    pub refused: u64,
    /// The first 100 of them, and why.
    pub refusals: Vec<RefusedDocument>,
    /// Documents that others changed again and again; another run will do.
    pub unsettled: u64,
    /// Documents that others deleted meanwhile.
    pub gone: u64,
    /// Documents that have something of the other form, as counted at the end. The refused ones are
    /// among them, and those that others have stored behind the walk.
    pub left: u64,
    /// Documents that were read again behind their change and compared with what they were: as records,
    /// whatever the order of fields and the type of a number.
    pub compared: u64,
    /// Those among them whose attributes are as they were written, and whose other fields somebody has
    /// written to since.
    pub rewritten: u64,
    /// Those that tell something else: somebody has written to their attributes since, or something
    /// is wrong.
    pub differing: Vec<Bson>,
}

/// A document that cannot be moved.
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
    /// Why.
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
