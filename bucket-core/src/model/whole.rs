//! Stored whole numbers of any numeric type, because other tools, shells and servers may write
//! another type than the library. Also decides whether two numbers are the same.

use std::cmp::Ordering;

use bson::{Bson, Document, RawBsonRef};

/// The integer that a double holds exactly.
pub(crate) fn of_double(value: f64) -> Option<i64> {
    const LIMIT: f64 = 9_007_199_254_740_992.0; // 2^53: every integer below is exact in a double
    // The cast is exact: the value is whole and within the limit.
    #[allow(clippy::cast_possible_truncation)]
    (value.fract() == 0.0 && value.abs() <= LIMIT).then_some(value as i64)
}

/// A value that is a whole number.
pub(crate) fn of_raw(value: RawBsonRef<'_>) -> Option<i64> {
    match value {
        RawBsonRef::Int32(number) => Some(number.into()),
        RawBsonRef::Int64(number) => Some(number),
        RawBsonRef::Double(number) => of_double(number),
        _ => None,
    }
}

/// Whether both are the same number, of any types. NaN is compared to the bit.
pub(crate) fn are_same_numbers(a: RawBsonRef<'_>, b: RawBsonRef<'_>) -> bool {
    match (a, b) {
        (RawBsonRef::Double(a), RawBsonRef::Double(b)) => {
            a.to_bits() == b.to_bits() || a.partial_cmp(&b).is_some_and(Ordering::is_eq)
        }
        (a, b) => of_raw(a).is_some_and(|number| of_raw(b) == Some(number)),
    }
}

/// A value that is a whole number.
#[must_use]
pub fn of(value: &Bson) -> Option<i64> {
    match value {
        Bson::Int32(number) => Some((*number).into()),
        Bson::Int64(number) => Some(*number),
        Bson::Double(number) => of_double(*number),
        _ => None,
    }
}

/// A field that is a whole number.
#[must_use]
pub fn field(document: &Document, name: &str) -> Option<i64> {
    of(document.get(name)?)
}

/// As the server counts: 32 bits if they suffice.
pub(crate) fn counted(value: i64) -> Bson {
    i32::try_from(value).map_or(Bson::Int64(value), Bson::Int32)
}
