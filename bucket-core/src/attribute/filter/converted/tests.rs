#![allow(clippy::float_cmp, reason = "numbers agree to the bit, or not at all")]

use bson::{Bson, Decimal128};
use proptest::prelude::*;

use super::*;
use crate::attribute::convert::{convert, number};

/// What a record with this stored number returns in the requested unit.
fn read(stored: &Bson, factor: f64) -> f64 {
    convert([(number(stored), factor)]).unwrap()
}

/// The rank of a number among all that can be stored, for an exact comparison.
fn compare(one: &Bson, other: &Bson) -> std::cmp::Ordering {
    let exact = |number: &Bson| match number {
        Bson::Double(number) if number.is_infinite() => (number.signum(), String::new()),
        Bson::Double(number) => (0.0, format!("{number:.1100}")),
        Bson::Int32(number) => (0.0, number.to_string()),
        Bson::Int64(number) => (0.0, number.to_string()),
        Bson::Decimal128(number) => match number.to_string().as_str() {
            "Infinity" => (1.0, String::new()),
            "-Infinity" => (-1.0, String::new()),
            text => (0.0, plain(text)),
        },
        other => panic!("{other} is no number"),
    };
    let ((infinite, one), (other_infinite, other)) = (exact(one), exact(other));
    let by_end = infinite.partial_cmp(&other_infinite).unwrap();
    by_end.then_with(|| compare_texts(&one, &other))
}

/// A decimal number without an exponent.
fn plain(text: &str) -> String {
    let (digits, power) = text.split_once('E').unwrap_or((text, "0"));
    let power: i32 = power.parse().unwrap();
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let (mut whole, mut fraction) = (whole.to_owned(), fraction.to_owned());
    for _ in 0..power.max(0) {
        whole.push(if fraction.is_empty() {
            '0'
        } else {
            fraction.remove(0)
        });
    }
    for _ in 0..(-power).max(0) {
        fraction.insert(0, whole.pop().unwrap_or('0'));
    }
    format!("{sign}{whole}.{fraction}")
}

fn compare_texts(one: &str, other: &str) -> std::cmp::Ordering {
    let parts = |text: &str| {
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(text) => (true, text.to_owned()),
            None => (false, text.to_owned()),
        };
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let whole = whole.trim_start_matches('0').to_owned();
        let fraction = fraction.trim_end_matches('0').to_owned();
        let is_zero = whole.is_empty() && fraction.is_empty();
        (is_negative && !is_zero, whole, fraction)
    };
    let ((negative, whole, fraction), (other_negative, other_whole, other_fraction)) =
        (parts(one), parts(other));
    let size = (whole.len().cmp(&other_whole.len()))
        .then_with(|| whole.cmp(&other_whole))
        .then_with(|| fraction.cmp(&other_fraction));
    match (negative, other_negative) {
        (false, true) => std::cmp::Ordering::Greater,
        (true, false) => std::cmp::Ordering::Less,
        (false, false) => size,
        (true, true) => size.reverse(),
    }
}

/// Whether a stored number meets a condition on the server.
fn fulfils(stored: &Bson, condition: &Document) -> bool {
    condition.iter().all(|(operator, bound)| {
        if let Bson::Array(points) = bound {
            return points.iter().any(|point| compare(stored, point).is_eq());
        }
        if number(bound).unwrap().is_nan() {
            let is_nan = number(stored).unwrap().is_nan();
            return is_nan && ["$eq", "$gte", "$lte"].contains(&operator.as_str());
        }
        if number(stored).unwrap().is_nan() {
            return false;
        }
        let order = compare(stored, bound);
        match operator.as_str() {
            "$eq" => order.is_eq(),
            "$gt" => order.is_gt(),
            "$gte" => order.is_ge(),
            "$lt" => order.is_lt(),
            "$lte" => order.is_le(),
            other => panic!("{other} is no comparison"),
        }
    })
}

/// The result of the same comparison on the value that is read.
fn holds(read: f64, operator: Operator, number: f64) -> bool {
    let both_nan = read.is_nan() && number.is_nan();
    match operator {
        Operator::Equal => read == number || both_nan,
        Operator::Greater => read > number,
        Operator::GreaterOrEqual => read >= number || both_nan,
        Operator::Less => read < number,
        Operator::LessOrEqual => read <= number || both_nan,
    }
}

const OPERATORS: [Operator; 5] = [
    Operator::Equal,
    Operator::Greater,
    Operator::GreaterOrEqual,
    Operator::Less,
    Operator::LessOrEqual,
];

/// Checks every comparison of a stored number with the value that is read, and with its neighbours.
fn agrees(stored: &Bson, factor: f64, kind: ValueKind, also: f64) {
    let read = read(stored, factor);
    for number in [read, read.next_up(), read.next_down(), also] {
        let Some(scale) = Scale::new(factor, kind) else {
            continue;
        };
        for operator in OPERATORS {
            let condition = scale.condition(operator, number);
            assert_eq!(
                fulfils(stored, &condition),
                holds(read, operator, number),
                "{stored} is read as {read:e}; {operator:?} {number:e} is {condition}"
            );
        }
        let one_of = scale.one_of([number, also]);
        let is_in = one_of.iter().any(|condition| fulfils(stored, condition));
        let expected = [number, also]
            .iter()
            .any(|number| holds(read, Operator::Equal, *number));
        assert_eq!(is_in, expected, "{stored} is read as {read:e}: {one_of:?}");
    }
}

fn factor() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(1.0),
        Just(29.5735),
        Just(1.0 / 29.5735),
        Just(0.1),
        Just(1e300),
        Just(1e-300),
        Just(-3.7),
        (1e-6..1e6_f64),
    ]
}

fn double() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        -1e6..1e6_f64,
        (-4_000_i32..4_000).prop_map(|number| f64::from(number) / 8.0),
        prop::sample::select(vec![
            0.0,
            -0.0,
            f64::MAX,
            f64::MIN,
            f64::MIN_POSITIVE,
            5e-324,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
        ]),
    ]
}

fn integer() -> impl Strategy<Value = i64> {
    prop_oneof![
        any::<i64>(),
        -100_i64..100,
        (0_i64..100, 52_u32..63).prop_map(|(offset, bits)| (1_i64 << bits) + offset - 50),
        (0_i64..100).prop_map(|offset| i64::MAX - offset),
        (0_i64..100).prop_map(|offset| i64::MIN + offset),
    ]
}

fn decimal_number() -> impl Strategy<Value = Decimal128> {
    let digits = -10_i128.pow(34) + 1..10_i128.pow(34);
    prop_oneof![
        (digits, -60_i32..60).prop_map(|(digits, power)| format!("{digits}E{power}")),
        (-1_000_i32..1_000, -400_i32..400).prop_map(|(digits, power)| format!("{digits}E{power}")),
        double().prop_map(|number| format!("{number:.33e}")),
        Just("Infinity".to_owned()),
    ]
    .prop_map(|text| {
        let text = if text.contains("inf") || text.contains("NaN") {
            "7".to_owned()
        } else {
            text
        };
        text.parse().unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn doubles_match_as_the_values_that_are_read_do(
        stored in double(), factor in factor(), also in double(),
    ) {
        agrees(&Bson::Double(stored), factor, ValueKind::Double, also);
        agrees(&Bson::Double(stored), factor, ValueKind::Any, also);
    }

    #[test]
    fn integers_match_as_the_values_that_are_read_do_beyond_53_bits(
        stored in integer(), factor in factor(), also in double(),
    ) {
        agrees(&Bson::Int64(stored), factor, ValueKind::Int64, also);
        agrees(&Bson::Int64(stored), factor, ValueKind::Any, also);
        if let Ok(stored) = i32::try_from(stored) {
            agrees(&Bson::Int32(stored), factor, ValueKind::Int32, also);
        }
    }

    #[test]
    fn decimals_match_as_the_values_that_are_read_do(
        stored in decimal_number(), factor in factor(), also in double(),
    ) {
        agrees(&Bson::Decimal128(stored), factor, ValueKind::Decimal, also);
    }
}

#[test]
fn a_volume_that_is_one_ounce_is_found_as_one_ounce() {
    let scale = Scale::new(1.0 / 29.5735, ValueKind::Double).unwrap();
    let stored = Bson::Double(29.5735);
    assert_eq!(read(&stored, 1.0 / 29.5735), 1.0);
    for (operator, expected) in OPERATORS.into_iter().zip([true, false, true, false, true]) {
        let condition = scale.condition(operator, 1.0);
        assert_eq!(
            fulfils(&stored, &condition),
            expected,
            "{operator:?}: {condition}"
        );
    }
}

#[test]
fn numbers_in_the_requested_unit_are_compared_unchanged() {
    assert_eq!(Scale::new(1.0, ValueKind::Double), None);
    assert_eq!(Scale::new(1.0, ValueKind::Int32), None);
    // But 2^53 + 1 is read as 2^53.
    let scale = Scale::new(1.0, ValueKind::Int64).unwrap();
    let condition = scale.condition(Operator::Equal, EXACT);
    assert_eq!(
        condition,
        doc! { "$gte": (1_i64 << 53) , "$lte": (1_i64 << 53) + 1 }
    );
    let condition = scale.condition(Operator::Equal, 5.0);
    assert_eq!(condition, doc! { "$eq": 5.0 });
}
