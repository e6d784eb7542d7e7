//! Where the server sorts a bucket without a place: before all others of its key, or after them.

use std::cmp::Ordering;

use bson::{RawBsonRef, RawDocument};

use crate::model::{
    form::OrderedBy,
    spec::{BucketSpec, ID},
};

/// Whether an index walk in this direction meets the bucket before all buckets of its key that have
/// a place. The ids of the key begin with the prefix.
pub(super) fn begins(
    spec: &BucketSpec,
    prefix: &str,
    stored: &RawDocument,
    descending: bool,
) -> bool {
    let (name, rank) = match spec.ordered_by() {
        OrderedBy::Id => (ID, TEXT),
        OrderedBy::Start => (spec.names().start, DATE),
        OrderedBy::Number => (spec.names().number, NUMBER),
    };
    let Ok(value) = stored.get(name) else {
        return false;
    };
    let side = match value {
        Some(RawBsonRef::String(text)) if rank == TEXT && text.starts_with(prefix) => {
            Ordering::Equal
        }
        Some(RawBsonRef::String(text)) if rank == TEXT => text.cmp(prefix),
        // The server sorts it before all other numbers.
        Some(value) if rank == NUMBER && is_nan(value) => Ordering::Less,
        // An array has an index entry for each element, and sorts by the first or the last of them.
        Some(RawBsonRef::Array(elements)) => {
            let ranks = elements.into_iter().flatten().map(rank_of);
            let own = if descending { ranks.max() } else { ranks.min() };
            own.unwrap_or(MISSING).cmp(&rank)
        }
        Some(value) => rank_of(value).cmp(&rank),
        None => MISSING.cmp(&rank),
    };
    side == if descending {
        Ordering::Greater
    } else {
        Ordering::Less
    }
}

fn is_nan(value: RawBsonRef<'_>) -> bool {
    match value {
        RawBsonRef::Double(number) => number.is_nan(),
        // The five bits after the sign.
        RawBsonRef::Decimal128(number) => number.bytes()[15] & 0x7c == 0x7c,
        _ => false,
    }
}

const MISSING: u8 = 1;
const NUMBER: u8 = 2;
const TEXT: u8 = 3;
const DATE: u8 = 8;

/// The server's order of types, as far as one of these is among them.
fn rank_of(value: RawBsonRef<'_>) -> u8 {
    match value {
        RawBsonRef::MinKey => 0,
        RawBsonRef::Undefined | RawBsonRef::Null => MISSING,
        RawBsonRef::Double(_)
        | RawBsonRef::Int32(_)
        | RawBsonRef::Int64(_)
        | RawBsonRef::Decimal128(_) => NUMBER,
        RawBsonRef::String(_) | RawBsonRef::Symbol(_) => TEXT,
        RawBsonRef::Document(_) => 4,
        RawBsonRef::Array(_) => 5,
        RawBsonRef::Binary(_) => 6,
        RawBsonRef::ObjectId(_) | RawBsonRef::Boolean(_) => 7,
        RawBsonRef::DateTime(_) => DATE,
        RawBsonRef::Timestamp(_) => 9,
        RawBsonRef::RegularExpression(_) => 10,
        RawBsonRef::DbPointer(_) => 11,
        RawBsonRef::JavaScriptCode(_) | RawBsonRef::JavaScriptCodeWithScope(_) => 12,
        RawBsonRef::MaxKey => 13,
    }
}
