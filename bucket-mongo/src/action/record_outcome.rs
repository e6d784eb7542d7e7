//! What became of one record.

#[cfg(doc)]
use crate::ErrorKind;

/// What became of a record.
///
/// ```
/// use bucket_mongo::RecordOutcome;
///
/// fn may_acknowledge(outcome: RecordOutcome) -> bool {
///     matches!(outcome, RecordOutcome::Stored | RecordOutcome::Duplicate)
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RecordOutcome {
    /// This call has stored it.
    Stored,
    /// It was stored before, by an earlier call or as an earlier record of this one, and was not
    /// stored again: its id (`#[bucket(unique)]`) or its position in a source tells.
    Duplicate,
    /// Its id is stored with other data, so that it was not: [`ErrorKind::Conflict`].
    Conflict,
    /// It is not stored, or not known to be; its error tells.
    Failed,
    /// It was not taken from the iterator.
    NotTried,
}
