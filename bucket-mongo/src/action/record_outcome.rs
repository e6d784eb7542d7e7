//! The outcome of one record.

#[cfg(doc)]
use crate::ErrorKind;

/// The outcome of a record.
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
    /// This call stored it.
    Stored,
    /// An earlier call, or an earlier record of this one, already stored it; it was not stored again. Its id
    /// (`#[bucket(unique)]`) or its position in a source shows this.
    Duplicate,
    /// Its id is already stored with other data, so it was not stored: [`ErrorKind::Conflict`].
    Conflict,
    /// It is not stored, or may not be; see its error.
    Failed,
    /// It was not taken from the iterator.
    NotTried,
}
