//! The damages that reads report, as problems.

use super::Problem;
use crate::error::Damage;

/// The problem that a damage of a read is.
pub(crate) fn problem(damage: Damage) -> Problem {
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    match damage {
        Damage::Field { path, expected } => Problem::Field {
            path,
            expected: expected.to_owned(),
        },
        Damage::Key { message } => Problem::Key { message },
        Damage::Id { message } => Problem::Id { message },
        Damage::CountMismatch {
            count: stored,
            items,
        } => Problem::Count {
            count: stored,
            items: count(items),
        },
        Damage::Item { index, source } => Problem::Item {
            index: count(index),
            message: source.to_string(),
        },
        Damage::Attribute { index, source } => Problem::Attribute {
            index: index.map(count),
            message: source.to_string(),
        },
        Damage::Bson(source) => Problem::Malformed {
            message: source.to_string(),
        },
        Damage::Packed { message } => Problem::Packed { message },
        Damage::Sealed { message } => Problem::Sealed { message },
        // Its own text has the reason.
        Damage::Archived => Problem::Sealed {
            message: Damage::Archived.to_string(),
        },
        Damage::NeverStored { path } => Problem::MissingAggregate { path },
        Damage::Expired { .. } => Problem::Sealed {
            message: damage.to_string(),
        },
        // Only writes are refused.
        Damage::Refused { message } => Problem::Malformed { message },
    }
}
