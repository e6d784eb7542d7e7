//! Comparisons of stored values as the server makes them in filters.

use std::cmp::Ordering;

use bson::{Bson, RawBsonRef};

use super::{converted::Operator, exact::Exact};
use crate::model::measure::Number;

/// Whether conditions can compare with the value.
pub(super) fn is_comparable(value: &Bson) -> bool {
    matches!(
        value,
        Bson::Int32(_)
            | Bson::Int64(_)
            | Bson::Double(_)
            | Bson::Decimal128(_)
            | Bson::String(_)
            | Bson::DateTime(_)
            | Bson::Boolean(_)
            | Bson::ObjectId(_)
            | Bson::Binary(_)
    )
}

/// Whether a stored value compares in this way with another one. Values of different types never do, except
/// for numbers.
pub(super) fn meets(stored: RawBsonRef<'_>, operator: Operator, value: &Bson) -> bool {
    if is_nan(stored) || is_nan_value(value) {
        let is_equal = is_nan(stored) && is_nan_value(value);
        return is_equal && !matches!(operator, Operator::Greater | Operator::Less);
    }
    let Some(ordering) = compare(stored, value) else {
        return false;
    };
    match operator {
        Operator::Equal => ordering.is_eq(),
        Operator::Greater => ordering.is_gt(),
        Operator::GreaterOrEqual => ordering.is_ge(),
        Operator::Less => ordering.is_lt(),
        Operator::LessOrEqual => ordering.is_le(),
    }
}

/// The order of two values of one type, neither of which is NaN.
fn compare(stored: RawBsonRef<'_>, value: &Bson) -> Option<Ordering> {
    Some(match (stored, value) {
        (RawBsonRef::Null, Bson::Null) => Ordering::Equal,
        (RawBsonRef::String(own), Bson::String(other)) => own.cmp(other),
        (RawBsonRef::DateTime(own), Bson::DateTime(other)) => own.cmp(other),
        (RawBsonRef::Boolean(own), Bson::Boolean(other)) => own.cmp(other),
        (RawBsonRef::ObjectId(own), Bson::ObjectId(other)) => own.cmp(other),
        (RawBsonRef::Binary(own), Bson::Binary(other)) => {
            let by_length = own.bytes.len().cmp(&other.bytes.len());
            let by_kind = u8::from(own.subtype).cmp(&u8::from(other.subtype));
            let by_bytes = own.bytes.cmp(&other.bytes);
            by_length.then(by_kind).then(by_bytes)
        }
        _ => {
            if let Some((own, other)) = number(stored).zip(number_of(value)) {
                return Some(own.compare(other));
            }
            // One of them is a decimal number.
            Exact::of_stored(stored)?.cmp(&Exact::of(value)?)
        }
    })
}

/// Whether it is a number of any type.
pub(super) fn is_number(stored: RawBsonRef<'_>) -> bool {
    number(stored).is_some() || matches!(stored, RawBsonRef::Decimal128(_))
}

fn number(stored: RawBsonRef<'_>) -> Option<Number> {
    Some(match stored {
        RawBsonRef::Int32(number) => Number::Int(number.into()),
        RawBsonRef::Int64(number) => Number::Int(number),
        RawBsonRef::Double(number) => Number::Float(number),
        _ => return None,
    })
}

fn number_of(value: &Bson) -> Option<Number> {
    Some(match value {
        Bson::Int32(number) => Number::Int((*number).into()),
        Bson::Int64(number) => Number::Int(*number),
        Bson::Double(number) => Number::Float(*number),
        _ => return None,
    })
}

fn is_nan(stored: RawBsonRef<'_>) -> bool {
    match stored {
        RawBsonRef::Double(number) => number.is_nan(),
        RawBsonRef::Decimal128(number) => is_nan_text(&number.to_string()),
        _ => false,
    }
}

fn is_nan_value(value: &Bson) -> bool {
    match value {
        Bson::Double(number) => number.is_nan(),
        Bson::Decimal128(number) => is_nan_text(&number.to_string()),
        _ => false,
    }
}

fn is_nan_text(text: &str) -> bool {
    text.ends_with("NaN")
}

#[cfg(test)]
mod tests {
    use bson::{Bson, RawBson};

    use super::meets;
    use crate::attribute::filter::converted::Operator;

    fn decimal(text: &str) -> Bson {
        Bson::Decimal128(text.parse().unwrap())
    }

    #[test]
    fn numbers_compare_by_their_exact_value_whatever_their_type() {
        // In ascending order; each inner list has one value in several types.
        let numbers = [
            vec![Bson::Double(f64::NEG_INFINITY), decimal("-Infinity")],
            vec![decimal("-1E+6000")],
            vec![
                Bson::Int64(i64::MIN),
                Bson::Double(-9_223_372_036_854_775_808.0),
            ],
            vec![
                Bson::Int32(-2),
                Bson::Double(-2.0),
                decimal("-2"),
                decimal("-20E-1"),
            ],
            vec![decimal("-1E-6000")],
            vec![
                Bson::Int32(0),
                Bson::Double(-0.0),
                decimal("0E+10"),
                decimal("-0"),
            ],
            vec![Bson::Double(5e-324)],
            vec![decimal("0.1")],
            // The double is somewhat more than the decimal that it is written as.
            vec![Bson::Double(0.1)],
            vec![Bson::Double(0.5), decimal("0.50")],
            vec![
                Bson::Int64(9_007_199_254_740_992),
                Bson::Double(9_007_199_254_740_992.0),
            ],
            vec![
                Bson::Int64(9_007_199_254_740_993),
                decimal("9007199254740993"),
            ],
            vec![Bson::Int64(i64::MAX), decimal("9223372036854775807")],
            vec![Bson::Double(9_223_372_036_854_775_808.0)],
            vec![Bson::Double(f64::MAX)],
            vec![decimal("1E+400")],
            vec![Bson::Double(f64::INFINITY), decimal("Infinity")],
        ];
        for (at, same) in numbers.iter().enumerate() {
            for (of, others) in numbers.iter().enumerate() {
                for (one, other) in same
                    .iter()
                    .flat_map(|one| others.iter().map(move |of| (one, of)))
                {
                    let raw = RawBson::try_from(one.clone()).unwrap();
                    let is = |operator| meets(raw.as_raw_bson_ref(), operator, other);
                    assert_eq!(is(Operator::Equal), at == of, "{one} = {other}");
                    assert_eq!(is(Operator::Less), at < of, "{one} < {other}");
                    assert_eq!(is(Operator::LessOrEqual), at <= of, "{one} <= {other}");
                    assert_eq!(is(Operator::Greater), at > of, "{one} > {other}");
                    assert_eq!(is(Operator::GreaterOrEqual), at >= of, "{one} >= {other}");
                }
            }
        }
    }

    #[test]
    fn nan_equals_itself_and_has_no_order() {
        for one in [Bson::Double(f64::NAN), decimal("NaN")] {
            let raw = RawBson::try_from(one.clone()).unwrap();
            let is = |operator, other: &Bson| meets(raw.as_raw_bson_ref(), operator, other);
            for other in [Bson::Double(f64::NAN), decimal("NaN")] {
                assert!(is(Operator::Equal, &other) && is(Operator::LessOrEqual, &other));
                assert!(!is(Operator::Less, &other) && !is(Operator::Greater, &other));
            }
            for other in [
                Bson::Double(1.0),
                Bson::Int32(1),
                decimal("1"),
                decimal("-Infinity"),
            ] {
                assert!(!is(Operator::Less, &other) && !is(Operator::GreaterOrEqual, &other));
            }
        }
    }

    #[test]
    fn values_of_two_types_never_meet_a_condition() {
        let values = [
            Bson::Int32(1),
            Bson::String("1".to_owned()),
            Bson::Boolean(true),
            Bson::DateTime(bson::DateTime::from_millis(1)),
            Bson::ObjectId(bson::oid::ObjectId::from_bytes([1; 12])),
        ];
        for (at, one) in values.iter().enumerate() {
            let raw = RawBson::try_from(one.clone()).unwrap();
            for (of, other) in values.iter().enumerate() {
                let is = meets(raw.as_raw_bson_ref(), Operator::GreaterOrEqual, other);
                assert_eq!(is, at == of, "{one} >= {other}");
            }
            assert!(!meets(raw.as_raw_bson_ref(), Operator::Equal, &Bson::Null));
        }
    }
}
