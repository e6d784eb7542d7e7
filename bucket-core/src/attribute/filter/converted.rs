//! Comparisons in another unit than values are stored in, as bounds on what is stored.
//!
//! What a record gives in the unit that is asked in is its number as an `f64` times a factor, both rounded.
//! Neither rounding ever changes an order, so the stored numbers that a comparison is true of lie between two
//! bounds. Dividing the operand by the factor misses them by one step; so they are searched for.

use bson::{Bson, Document, doc};

use crate::attribute::ValueKind;

/// From here on a floating point number holds no longer every whole number.
const EXACT: f64 = 9_007_199_254_740_992.0;
/// The end of 64-bit integers.
const INT64_END: i128 = 1 << 63;

/// How the stored numbers of one unit come to be those of the unit that is asked in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    /// How much of the unit that is asked in one of the stored unit is.
    factor: f64,
    stored: Stored,
}

/// Between which numbers a bound has to tell.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Stored {
    Doubles,
    /// Beyond 53 bits several of them are read as the same number.
    Integers,
    /// Decimal ones too, many of which are read as the same number everywhere.
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

    /// The same comparison of both numbers with the other sign.
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
    /// Of a unit whose values are stored as this. None if they are the same numbers in the unit that is asked
    /// in, so that the server compares them as they are.
    pub(super) fn new(factor: f64, kind: ValueKind) -> Option<Self> {
        let stored = match kind {
            ValueKind::Int64 => Stored::Integers,
            ValueKind::Decimal | ValueKind::Any => Stored::Decimals,
            _ => Stored::Doubles,
        };
        let is_same = factor.to_bits() == 1.0_f64.to_bits() && stored == Stored::Doubles;
        (!is_same).then_some(Self { factor, stored })
    }

    /// What the stored number fulfils if and only if the converted one fulfils this comparison.
    pub(super) fn condition(self, operator: Operator, number: f64) -> Document {
        if number.is_nan() {
            // Equal to itself alone, on the server.
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

    /// What the stored number fulfils if and only if the converted one is one of these: any one of the
    /// conditions.
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
            // Conversion steps over this number.
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

    /// The smallest stored number of which the converted one is at least this.
    fn least(self, number: f64) -> Bound {
        let double = self.least_double(number);
        match self.stored {
            Stored::Integers if EXACT <= double.abs() => least_integer(double),
            Stored::Decimals => Bound::Decimal(least_decimal(double)),
            Stored::Doubles | Stored::Integers => Bound::Double(double),
        }
    }

    /// The largest stored number of which the converted one is at most this.
    fn greatest(self, number: f64) -> Bound {
        -self.least(-number)
    }

    /// The smallest floating point number of which the converted one is at least this.
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
    /// By its place among all decimal numbers.
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
                    // It has 34 digits and a small exponent, so it always is one.
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
            // There is one zero.
            Self::Double(number) => Self::Double(0.0 - number),
            Self::Integer(number) => Self::Integer(-number),
            Self::Decimal(place) => Self::Decimal(-place),
        }
    }
}

/// The first number from `first` to `last` that something is true of, as it is of all after it; the last if it is
/// true of none.
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

/// The place of a floating point number among all of them, counted from zero.
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
    #[allow(clippy::cast_precision_loss, reason = "it is what reading does")]
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
/// The place of infinity among them.
const INFINITE: i128 = (2 * LAST_POWER + 1) * PER_POWER + 1;

/// The decimal number at a place among those of 34 digits, counted from zero.
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

/// The place of the smallest decimal number that is read as this or more.
fn least_decimal(double: f64) -> i128 {
    let reaches = |place: i128| {
        let number: Option<f64> = decimal(place).parse().ok();
        number.is_some_and(|number| number >= double)
    };
    first_that(-INFINITE, INFINITE, reaches)
}

#[cfg(test)]
mod tests;
