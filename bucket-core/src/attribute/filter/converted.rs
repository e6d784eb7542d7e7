//! Comparisons in another unit than the stored one, as bounds on the stored values.
//!
//! In the requested unit, a record returns its number as an `f64` times a factor, both rounded.
//! Neither rounding changes an order, so the stored numbers that meet a comparison are between two
//! bounds. Dividing the operand by the factor can miss a bound by one step, so the code searches
//! for the bounds.

use bson::{Bson, Document, doc};

use crate::attribute::ValueKind;

/// From here on, a floating point number no longer represents every whole number.
const EXACT: f64 = 9_007_199_254_740_992.0;
/// The end of 64-bit integers.
const INT64_END: i128 = 1 << 63;

/// The conversion from the numbers of one stored unit to the requested unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    /// The amount of the requested unit in one stored unit.
    factor: f64,
    stored: Stored,
}

/// The numbers that a bound must distinguish.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Stored {
    Doubles,
    /// Beyond 53 bits, several integers are read as the same number.
    Integers,
    /// Decimals as well. Everywhere, many of them are read as the same number.
    Decimals,
}

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

impl Operator {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Equal => "$eq",
            Self::Greater => "$gt",
            Self::GreaterOrEqual => "$gte",
            Self::Less => "$lt",
            Self::LessOrEqual => "$lte",
        }
    }

    /// The same comparison after both numbers change their sign.
    const fn mirrored(self) -> Self {
        match self {
            Self::Equal => Self::Equal,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
        }
    }
}

impl Scale {
    /// For a unit whose values have this type. `None` if they are the same numbers in the requested
    /// unit, so that the server can compare them unchanged.
    pub(super) fn new(factor: f64, kind: ValueKind) -> Option<Self> {
        let stored = match kind {
            ValueKind::Int64 => Stored::Integers,
            ValueKind::Decimal | ValueKind::Any => Stored::Decimals,
            _ => Stored::Doubles,
        };
        let is_same = factor.to_bits() == 1.0_f64.to_bits() && stored == Stored::Doubles;
        (!is_same).then_some(Self { factor, stored })
    }

    /// The condition that a stored number meets if and only if the converted one meets this
    /// comparison.
    pub(super) fn condition(self, operator: Operator, number: f64) -> Document {
        if number.is_nan() {
            // NaN only equals itself on the server.
            return doc! { operator.name(): number };
        }
        if self.factor < 0.0 {
            let mirrored = Self {
                factor: -self.factor,
                ..self
            };
            return mirrored.condition(operator.mirrored(), -number);
        }
        match operator {
            Operator::GreaterOrEqual => doc! { "$gte": self.least(number).bson() },
            Operator::Less => doc! { "$lt": self.least(number).bson() },
            Operator::LessOrEqual => doc! { "$lte": self.greatest(number).bson() },
            Operator::Greater => doc! { "$gt": self.greatest(number).bson() },
            Operator::Equal => self.equal(number),
        }
    }

    /// The conditions of which a stored number meets any if and only if the converted one is one of
    /// these.
    pub(super) fn one_of(self, numbers: impl IntoIterator<Item = f64>) -> Vec<Document> {
        let (mut points, mut conditions) = (Vec::new(), Vec::new());
        for number in numbers {
            let mut condition = self.condition(Operator::Equal, number);
            match condition.remove("$eq") {
                Some(point) => points.push(point),
                None => match condition.remove("$in") {
                    Some(Bson::Array(none_or_two)) => points.extend(none_or_two),
                    _ => conditions.push(condition),
                },
            }
        }
        if !points.is_empty() || conditions.is_empty() {
            conditions.insert(0, doc! { "$in": points });
        }
        conditions
    }

    fn equal(self, number: f64) -> Document {
        let (least, greatest) = (self.least_double(number), -self.least_double(-number));
        if least > greatest {
            // No stored number converts to this number.
            return doc! { "$in": [] };
        }
        match (self.least(number), self.greatest(number)) {
            (Bound::Double(one), Bound::Double(other)) if one >= other => doc! { "$eq": one },
            (Bound::Double(one), Bound::Double(other))
                if self.stored == Stored::Doubles && one.next_up() >= other =>
            {
                doc! { "$in": [one, other] }
            }
            (least, greatest) => doc! { "$gte": least.bson(), "$lte": greatest.bson() },
        }
    }

    /// The smallest stored number whose conversion is at least this.
    fn least(self, number: f64) -> Bound {
        let double = self.least_double(number);
        match self.stored {
            Stored::Integers if EXACT <= double.abs() => least_integer(double),
            Stored::Decimals => Bound::Decimal(least_decimal(double)),
            Stored::Doubles | Stored::Integers => Bound::Double(double),
        }
    }

    /// The largest stored number whose conversion is at most this.
    fn greatest(self, number: f64) -> Bound {
        -self.least(-number)
    }

    /// The smallest floating point number whose conversion is at least this.
    fn least_double(self, number: f64) -> f64 {
        let (first, last) = (rank(f64::NEG_INFINITY), rank(f64::INFINITY));
        let reaches = |at: i128| of_rank(at) * self.factor >= number;
        of_rank(first_that(first, last, reaches))
    }
}

/// A bound on stored numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Bound {
    Double(f64),
    Integer(i128),
    /// The rank among all decimal numbers.
    Decimal(i128),
}

impl Bound {
    fn bson(self) -> Bson {
        match self {
            Self::Double(number) => Bson::Double(number),
            #[allow(
                clippy::cast_precision_loss,
                reason = "only the end of 64 bits is no integer"
            )]
            Self::Integer(number) => match i64::try_from(number) {
                Ok(number) => Bson::Int64(number),
                Err(_) => Bson::Double(number as f64),
            },
            Self::Decimal(place) => {
                let text = decimal(place);
                match text.parse() {
                    Ok(number) => Bson::Decimal128(number),
                    // It has 34 digits and a small exponent, so parsing always succeeds.
                    Err(_) => Bson::Double(text.parse().unwrap_or(f64::NAN)),
                }
            }
        }
    }
}

impl std::ops::Neg for Bound {
    type Output = Self;

    fn neg(self) -> Self {
        match self {
            // There is only one zero.
            Self::Double(number) => Self::Double(0.0 - number),
            Self::Integer(number) => Self::Integer(-number),
            Self::Decimal(place) => Self::Decimal(-place),
        }
    }
}

/// The first number from `first` to `last` that meets a predicate; all later numbers meet it too.
/// Returns `last` if none does.
fn first_that(mut first: i128, mut last: i128, is_true: impl Fn(i128) -> bool) -> i128 {
    while first < last {
        let middle = first + (last - first) / 2;
        if is_true(middle) {
            last = middle;
        } else {
            first = middle + 1;
        }
    }
    last
}

/// The rank of a floating point number among all of them, counted from zero.
fn rank(number: f64) -> i128 {
    let place = i128::from(number.abs().to_bits());
    if number.is_sign_negative() {
        -place
    } else {
        place
    }
}

fn of_rank(rank: i128) -> f64 {
    let number = f64::from_bits(u64::try_from(rank.unsigned_abs()).unwrap_or(u64::MAX));
    if rank < 0 { -number } else { number }
}

/// The smallest 64-bit integer that is read as this or more.
fn least_integer(double: f64) -> Bound {
    #[allow(clippy::cast_precision_loss, reason = "reads round in the same way")]
    let reaches = |number: i128| number as f64 >= double;
    if reaches(INT64_END) {
        Bound::Integer(first_that(-INT64_END, INT64_END, reaches))
    } else {
        Bound::Double(double)
    }
}

/// The number of decimal numbers of 34 digits between two powers of ten.
const PER_POWER: i128 = 9 * 10_i128.pow(33);
/// Beyond this power of ten in both directions, decimal numbers are read as zero or as infinite.
const LAST_POWER: i128 = 400;
/// The rank of infinity among them.
const INFINITE: i128 = (2 * LAST_POWER + 1) * PER_POWER + 1;

/// The decimal number with this rank among those of 34 digits, counted from zero.
fn decimal(place: i128) -> String {
    let sign = if place < 0 { "-" } else { "" };
    match place.abs() {
        0 => "0".to_owned(),
        INFINITE.. => format!("{sign}Infinity"),
        place => {
            let (power, digits) = ((place - 1) / PER_POWER, (place - 1) % PER_POWER);
            let digits = digits + PER_POWER / 9;
            format!("{sign}{digits}E{}", power - LAST_POWER - 33)
        }
    }
}

/// The rank of the smallest decimal number that is read as this or more.
fn least_decimal(double: f64) -> i128 {
    let reaches = |place: i128| {
        let number: Option<f64> = decimal(place).parse().ok();
        number.is_some_and(|number| number >= double)
    };
    first_that(-INFINITE, INFINITE, reaches)
}

#[cfg(test)]
mod tests;
