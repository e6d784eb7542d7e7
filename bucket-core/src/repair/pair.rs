//! Whether a problem between two documents still holds, and what to do about it.

use bson::{Bson, RawDocument};

use crate::{
    bucket::{id::Place, record::Record},
    check::{Checked, Problem, head, share_one},
    model::{form::OrderedBy, limits::Limits},
};

/// What to do about a problem between two documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BetweenTwo {
    /// It no longer holds.
    Gone,
    /// The bucket takes no more records.
    Close,
    /// The document moves into the quarantine.
    Quarantine,
}

/// The other document of a problem that a repair can end.
///
/// ```
/// use bucket_core::{check::Problem, repair::other_document};
///
/// assert_eq!(other_document(&Problem::Empty), None);
/// ```
#[must_use]
pub fn other_document(problem: &Problem) -> Option<&Bson> {
    match problem {
        Problem::OpenBefore { later } | Problem::TwoOpen { later } => Some(later),
        Problem::SamePlace { other } | Problem::SharedId { other, .. } => Some(other),
        _ => None,
    }
}

/// What to do about the problem that was found of the first document.
///
/// ```
/// # use bson::RawDocument;
/// # use bucket_core::{Record, check::Problem, repair::{BetweenTwo, between_two}};
/// fn is_gone<T: Record>(problem: &Problem, one: &RawDocument, other: &RawDocument) -> bool {
///     between_two::<T>(problem, one, other, |_| None) == BetweenTwo::Gone
/// }
/// ```
pub fn between_two<T: Record>(
    problem: &Problem,
    one: &RawDocument,
    other: &RawDocument,
    limits: impl Fn(&T::Key) -> Option<Limits>,
) -> BetweenTwo {
    let shares_id = matches!(problem, Problem::SharedId { .. }) && share_one(T::SPEC, one, other);
    let (Checked { seen: one, .. }, Checked { seen: other, .. }) =
        (head::<T>(one, &limits), head::<T>(other, &limits));
    let have_one_key = one.key.is_some() && one.key == other.key && one.id != other.id;
    // A number is the place of its bucket, whatever follows it in the id.
    let is_numbered = T::SPEC.ordered_by() == OrderedBy::Number;
    let place = |place: Place| (place.time, if is_numbered { 0 } else { place.sequence });
    let places = one.place.map(place).zip(other.place.map(place));
    let holds = have_one_key
        && match problem {
            Problem::OpenBefore { .. } => {
                one.is_open(T::SPEC) && places.is_some_and(|(own, other)| own < other)
            }
            Problem::TwoOpen { .. } => one.is_open(T::SPEC) && other.is_open(T::SPEC),
            Problem::SamePlace { .. } => {
                let is_merged = other.origins.as_ref().is_some_and(|of| one.is_among(of));
                places.is_some_and(|(own, other)| own == other) || is_merged
            }
            Problem::SharedId { .. } => shares_id,
            _ => false,
        };
    match problem {
        _ if !holds => BetweenTwo::Gone,
        Problem::OpenBefore { .. } | Problem::TwoOpen { .. } => BetweenTwo::Close,
        _ => BetweenTwo::Quarantine,
    }
}
