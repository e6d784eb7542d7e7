//! The outcome of one record.

#[cfg(doc)]
use crate::ErrorKind;

/// The outcome of a record.
///
/// ```
/// use bucket_mongo::RecordOutcome;
///
/// fn may_acknowledge(outcome: RecordOutcome) -> bool {
///     use RecordOutcome::{Duplicate, Replaced, Stored, Superseded};
///     matches!(outcome, Stored | Duplicate | Replaced | Superseded)
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
    /// It replaced what was stored under its id; see [`Insert::replace`](crate::action::Insert::replace).
    Replaced,
    /// What is stored under its id stays; see [`Insert::replace_if`](crate::action::Insert::replace_if).
    Superseded,
    /// Its id is already stored with other data, so it was not stored: [`ErrorKind::Conflict`].
    Conflict,
    /// It is not stored, or may not be; see its error.
    Failed,
    /// It was not taken from the iterator.
    NotTried,
}
